package fence

import (
	"errors"
	"fmt"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence/internal/resource"
)

var (
	// ErrStale says that a fence is lower than one that the resource has seen. See [StaleError].
	ErrStale = errors.New("fence is stale")
	// ErrInvalid says that a fence, a resource or a setting of this package is invalid, whatever fences were seen
	// before.
	ErrInvalid = errors.New("unusable for fencing")
)

// StaleError is the ErrStale that names the resource and both fences.
type StaleError struct {
	// Resource is the resource of the write.
	Resource string
	// Given is the fence that was refused.
	Given lockrt.Fence
	// Highest is the highest fence that the resource had seen by then.
	Highest lockrt.Fence
}

// Error implements error.
func (e *StaleError) Error() string {
	return fmt.Sprintf("stale fence: work on %q with fence %s refused, it has seen %s: "+
		"a later holder of the lock was here, unless fences of another lock are used for this resource; "+
		"undo this work and do not try it again with this lease", e.Resource, e.Given, e.Highest)
}

// Is makes errors.Is(err, ErrStale) true.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// check refuses what no store of high-water marks can keep exactly.
func check(name string, f lockrt.Fence) error {
	if err := resource.Check(name, f); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}
