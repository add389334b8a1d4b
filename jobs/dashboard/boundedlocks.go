package dashboard

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// boundedLocks is a locker of which every call ends with its context, whatever the client of its store does underneath, as a
// Scheduler's calls do. A call that is given up goes on in the background until the client ends it, and while many do no other
// is begun. A panic is its error.
type boundedLocks struct {
	locker
	out *atomic.Int64 // calls that were given up and go on
}

// mostOut is how many calls may go on in the background.
const mostOut = 10

// answerGrace is what a call has, after the end of its context, to say itself what has happened.
const answerGrace = 50 * time.Millisecond

var errMostOut = fmt.Errorf("%d calls before have not ended, so no other is begun", mostOut)

func within[T any](ctx context.Context, b boundedLocks, call func() (T, error)) (none T, _ error) {
	if b.out.Load() >= mostOut {
		return none, errMostOut
	}
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	var over atomic.Bool // it has ended, or was given up
	go func() {          // ends when the client does
		var a answer
		a.err = caught(func() (err error) { a.value, err = call(); return err })
		done <- a
		if over.Swap(true) {
			b.out.Add(-1)
		}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(answerGrace)
	defer timer.Stop()
	select {
	case a := <-done:
		return a.value, a.err
	case <-timer.C:
		if !over.Swap(true) {
			b.out.Add(1)
		}
		return none, fmt.Errorf("the store of the locks has not answered: %w", ctx.Err())
	}
}

func (b boundedLocks) ListPage(
	ctx context.Context, prefix, cursor string, limit int,
) (page []lockrt.LockInfo, next string, err error) {
	type found struct {
		page []lockrt.LockInfo
		next string
	}
	f, err := within(ctx, b, func() (f found, err error) {
		f.page, f.next, err = b.locker.ListPage(ctx, prefix, cursor, limit)
		return f, err
	})
	return f.page, f.next, err
}

func (b boundedLocks) Holder(ctx context.Context, key string) (lockrt.LockInfo, error) {
	return within(ctx, b, func() (lockrt.LockInfo, error) { return b.locker.Holder(ctx, key) })
}

func (b boundedLocks) BreakSeen(ctx context.Context, seen lockrt.LockInfo, reason string) error {
	_, err := within(ctx, b, func() (struct{}, error) { return struct{}{}, b.locker.BreakSeen(ctx, seen, reason) })
	return err
}

func (b boundedLocks) BreakLease(ctx context.Context, key, id, reason string) error {
	_, err := within(ctx, b, func() (struct{}, error) { return struct{}{}, b.locker.BreakLease(ctx, key, id, reason) })
	return err
}
