package ll1001

import (
	"context"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// The fix goes behind the comment of the check.
func commentBehind(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is never released`
	if err != nil {
		return err
	} // nobody has it
	_ = lease.Fence()
	return nil
}
