package fence

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	lockrt "github.com/lockgen/lockgen/runtime"
)

var (
	// ErrStale says that a fence is lower than one that the resource has seen. See [StaleError].
	ErrStale = errors.New("fence is stale")
	// ErrInvalid says that a fence, a resource or a setting of this package cannot be used, whatever was seen before.
	ErrInvalid = errors.New("unusable for fencing")
)

// StaleError is the ErrStale that names the resource and both fences.
type StaleError struct {
	// Resource is what was to be written.
	Resource string
	// Given is the fence that was refused.
	Given lockrt.Fence
	// Highest is the highest fence that the resource had seen by then.
	Highest lockrt.Fence
}

// Error implements error.
func (e *StaleError) Error() string {
	return fmt.Sprintf("stale fence: write to %q with fence %s refused, it has seen %s: "+
		"a later holder of the lock was here, unless fences of another lock are used for this resource; "+
		"undo this work and do not try it again with this lease", e.Resource, e.Given, e.Highest)
}

// Is makes errors.Is(err, ErrStale) true.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// maxResource keeps a resource within the keys that all databases can index.
const maxResource = 512

// check refuses what no store of marks can keep exactly.
func check(resource string, f lockrt.Fence) error {
	switch {
	case resource == "":
		return fmt.Errorf("%w: the resource is empty", ErrInvalid)
	case len(resource) > maxResource:
		return fmt.Errorf("%w: the resource is %d bytes long, more than %d; hash the long part", ErrInvalid, len(resource), maxResource)
	case !utf8.ValidString(resource) || strings.IndexByte(resource, 0) >= 0:
		return fmt.Errorf("%w: the resource %q is not UTF-8 text without zero bytes", ErrInvalid, resource)
	case f == 0:
		return fmt.Errorf("%w: fence 0 for %q: %w: it is what a nil or missing lease returns", ErrInvalid, resource, lockrt.ErrNotHeld)
	case f > math.MaxInt64:
		return fmt.Errorf("%w: fence %s for %q is not below 2^63; no lease has such a fence", ErrInvalid, f, resource)
	}
	return nil
}
