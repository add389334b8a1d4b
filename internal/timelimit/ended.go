package timelimit

import (
	"context"
	"time"
)

// lateTimer is how long the timer of a deadline is waited for that has passed.
const lateTimer = 20 * time.Millisecond

// Ended is ctx's error. On a busy machine the timer of a deadline may be later than another one that was set for a later
// moment. So a context whose deadline has passed counts as one that has ended. Its timer is waited for, so that nobody
// hears of the end of a context that says that it lives.
func Ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); !ok || time.Now().Before(deadline) {
		return nil
	}
	late := time.NewTimer(lateTimer)
	defer late.Stop()
	select {
	case <-ctx.Done():
	case <-late.C:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.DeadlineExceeded
}
