package ll3002

import (
	"context"
	"time"

	"github.com/go-redsync/redsync/v4"
)

// A loop that tries for some time ends without the lock, too.

func forSomeTime(ctx context.Context, m *redsync.Mutex) error {
	got := false
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		if m.TryLockContext(ctx) == nil { // want `LL3002: when m.TryLockContext fails, the code goes on without the lock: work at line 21 runs either way`
			got = true
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	err := work()
	if got {
		_, _ = m.UnlockContext(context.WithoutCancel(ctx))
	}
	return err
}

func whileWanted(ctx context.Context, m *redsync.Mutex) error {
	got := false
	for !got && ctx.Err() == nil {
		got = m.TryLockContext(ctx) == nil // want `LL3002: when m.TryLockContext fails, the code goes on without the lock: work at line \d+ runs either way`
		time.Sleep(10 * time.Millisecond)
	}
	err := work()
	if got {
		_, _ = m.UnlockContext(context.WithoutCancel(ctx))
	}
	return err
}

func eachTick(ctx context.Context, m *redsync.Mutex, ticker *time.Ticker) error {
	got := false
	start := time.Now()
	for !got && time.Since(start) < time.Second {
		<-ticker.C
		got = m.TryLockContext(ctx) == nil // want `LL3002: when m.TryLockContext fails, the code goes on without the lock: work at line \d+ runs either way`
	}
	err := work()
	if got {
		_, _ = m.UnlockContext(context.WithoutCancel(ctx))
	}
	return err
}

// Here the time, or the context, says behind the loop which it is.

func asksTimeAgain(ctx context.Context, m *redsync.Mutex) error {
	end := time.Now().Add(time.Second)
	for time.Now().Before(end) {
		if m.TryLockContext(ctx) == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !time.Now().Before(end) {
		return errBusyNow
	}
	defer m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}

func asksContextAgain(ctx context.Context, m *redsync.Mutex) error {
	for ctx.Err() == nil {
		if m.TryLockContext(ctx) == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	defer m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}

func asksFlagOfLoop(ctx context.Context, m *redsync.Mutex) error {
	got := false
	for end := time.Now().Add(time.Second); !got && time.Now().Before(end); {
		got = m.TryLockContext(ctx) == nil
	}
	if !got {
		return errBusyNow
	}
	defer m.UnlockContext(context.WithoutCancel(ctx))
	return work()
}

// One that works in rounds has the lock in some of them, and asks for it again.
func leadsForSomeTime(ctx context.Context, m *redsync.Mutex, ticker *time.Ticker) error {
	for ctx.Err() == nil {
		if m.TryLockContext(ctx) == nil {
			_ = work()
			_, _ = m.UnlockContext(context.WithoutCancel(ctx))
		}
		<-ticker.C
	}
	return work()
}
