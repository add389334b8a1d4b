package ll1001

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
)

var opts lockrt.Options

func work() error { return nil }

// Leaks, with a safe fix where the form is the plain one.

func never(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is never released: the return at line 26 leaves it held`
	if err != nil {
		return err
	}
	_ = lease.Fence()
	return nil
}

func early(ctx context.Context, l *lockrt.Locker, n int) error {
	lease, err := l.Acquire(ctx, "b", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path: the return at line 35 \(when n == 0\) leaves it held`
	if err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	return lease.Release(ctx)
}

func two(ctx context.Context, l *lockrt.Locker, n int) error {
	lease, err := l.TryAcquire(ctx, "c", lockrt.Options{}) // want `LL1001: the lease from TryAcquire is not released on every path: the return at line 48 \(when err != nil\) and 1 more leaves`
	if errors.Is(err, lockrt.ErrBusy) {
		return nil
	} else if err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	if n > 3 {
		return nil
	}
	return lease.Release(ctx)
}

func onlyIfWorked(ctx context.Context, l *lockrt.Locker) {
	lease, err := l.Acquire(ctx, "d", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path: the return at line 65 \(when err != nil\) leaves it held`
	if err != nil {
		return
	}
	err = work()
	if err == nil {
		lease.Release(ctx)
	}
}

func dropped(ctx context.Context, l *lockrt.Locker) error {
	_, err := l.Acquire(ctx, "e", lockrt.Options{}) // want `LL1001: the lease from Acquire is never released`
	return err
}

func loop(ctx context.Context, l *lockrt.Locker, keys []string) error {
	for _, key := range keys {
		lease, err := l.Acquire(ctx, key, lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path: the next iteration, which acquires again \(when key == ""\) and 1 more leaves it held`
		if err != nil {
			return err
		}
		if key == "" {
			continue
		}
		lease.Release(ctx)
	}
	return nil
}

func all(ctx context.Context, l *lockrt.Locker) error {
	leases, err := l.AcquireAll(ctx, []string{"a", "b"}, lockrt.Options{}) // want `LL1001: the lease from AcquireAll is never released`
	if err != nil {
		return err
	}
	_ = leases.Context()
	return work()
}

func inLiteral(ctx context.Context, l *lockrt.Locker) func() error {
	return func() error {
		lease, err := l.Acquire(ctx, "f", lockrt.Options{}) // want `LL1001: the lease from Acquire is never released`
		if err != nil {
			return err
		}
		_ = lease
		return nil
	}
}

func capturedError(ctx context.Context, l *lockrt.Locker) (err error) {
	defer func() {
		if err != nil {
			log.Println(err)
		}
	}()
	lease, err := l.Acquire(ctx, "g", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path: the return at line 117 \(when err != nil\)`
	if err != nil {
		return err
	}
	if err = work(); err != nil {
		return err
	}
	return lease.Release(ctx)
}

func deferredOnSuccess(ctx context.Context, l *lockrt.Locker) (err error) {
	lease, err := l.Acquire(ctx, "h", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path: the return at line 132`
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			lease.Release(ctx)
		}
	}()
	return work()
}

// Released in every way there is.

func deferred(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	return work()
}

func deferredFirst(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	defer lease.Release(ctx)
	if err != nil {
		return err
	}
	return work()
}

func deferredLiteral(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if err := lease.Release(ctx); err != nil {
			log.Println(err)
		}
	}()
	return work()
}

func calledLiteral(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	release := func() { lease.Release(ctx) }
	if err := work(); err != nil {
		release()
		return err
	}
	release()
	return nil
}

func everyBranch(ctx context.Context, l *lockrt.Locker, n int) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	switch {
	case errors.Is(err, lockrt.ErrBusy):
		return nil
	case err != nil:
		return fmt.Errorf("acquire: %w", err)
	}
	if n == 0 {
		lease.Release(ctx)
		return nil
	}
	return lease.Release(ctx)
}

func compared(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.TryAcquire(ctx, "a", lockrt.Options{})
	if err == lockrt.ErrBusy {
		return nil
	}
	if err != nil {
		return err
	}
	return lease.Release(ctx)
}

func isBusy(err error) bool { return err == lockrt.ErrBusy }

func helperKnowsErrors(ctx context.Context, l *lockrt.Locker) error {
	for {
		lease, err := l.TryAcquire(ctx, "a", lockrt.Options{})
		if isBusy(err) {
			continue
		}
		if err != nil {
			return err
		}
		return lease.Release(ctx)
	}
}

func nilTest(ctx context.Context, l *lockrt.Locker) {
	lease, _ := l.TryAcquire(ctx, "a", lockrt.Options{})
	if lease == nil {
		return
	}
	lease.Release(ctx)
}

func wasLocked(ctx context.Context, l *lockrt.Locker, exclusive bool) error {
	var lease *lockrt.Lease
	wasLocked := false
	if exclusive {
		var err error
		lease, err = l.Acquire(ctx, "a", lockrt.Options{})
		if err != nil {
			return err
		}
		wasLocked = true
	}
	err := work()
	if wasLocked {
		lease.Release(ctx)
	}
	return err
}

func sameCondition(ctx context.Context, l *lockrt.Locker, exclusive bool) error {
	var lease *lockrt.Lease
	if exclusive {
		var err error
		if lease, err = l.Acquire(ctx, "a", lockrt.Options{}); err != nil {
			return err
		}
	}
	err := work()
	if exclusive {
		lease.Release(ctx)
	}
	return err
}

func maybeNil(ctx context.Context, l *lockrt.Locker, exclusive bool) error {
	var lease *lockrt.Lease
	if exclusive {
		var err error
		if lease, err = l.Acquire(ctx, "a", lockrt.Options{}); err != nil {
			return err
		}
	}
	err := work()
	if lease != nil {
		lease.Release(ctx)
	}
	return err
}

func loopReleased(ctx context.Context, l *lockrt.Locker, keys []string) error {
	for _, key := range keys {
		lease, err := l.Acquire(ctx, key, lockrt.Options{})
		if err != nil {
			return err
		}
		if key == "" {
			lease.Release(ctx)
			continue
		}
		if err := lease.Release(ctx); err != nil {
			return err
		}
	}
	return nil
}

func dies(ctx context.Context, l *lockrt.Locker, n int) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		log.Fatal(err)
	}
	switch n {
	case 0:
		panic("zero")
	case 1:
		os.Exit(1)
	case 2:
		die()
	}
	lease.Release(ctx)
}

func die() { log.Fatalln("dead") }

func inTest(t *testing.T, ctx context.Context, l *lockrt.Locker) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lease.Release(ctx) })
}

func after(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { lease.Release(context.Background()) })
	return nil
}

func allReleased(ctx context.Context, l *lockrt.Locker) error {
	leases, err := l.AcquireAll(ctx, []string{"a", "b"}, lockrt.Options{})
	if err != nil {
		return err
	}
	defer leases.Release(ctx)
	return work()
}

func oneByOne(ctx context.Context, l *lockrt.Locker) error {
	leases, err := l.AcquireAll(ctx, []string{"a", "b"}, lockrt.Options{})
	if err != nil {
		return err
	}
	for _, lease := range leases {
		lease.Release(ctx)
	}
	return nil
}

// A rate limit: kept until its time is up.

func rateLimit(ctx context.Context, l *lockrt.Locker) bool {
	_, err := l.TryAcquire(ctx, "mail", lockrt.Options{NoRenew: true})
	return err == nil
}

func unknownOptions(ctx context.Context, l *lockrt.Locker) bool {
	_, err := l.TryAcquire(ctx, "mail", opts)
	return err == nil
}

// Closing the locker releases what it holds.

func closes(ctx context.Context, l *lockrt.Locker) error {
	defer l.Close(ctx)
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	return lease.Check(ctx)
}

// A loop that releases runs at least once.

func triesRelease(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	for range 3 {
		if err = lease.Release(ctx); err == nil {
			break
		}
	}
	return err
}

// What says no need not be an error.

type refusal struct{ reason string }

func lockOrRefuse(ctx context.Context, l *lockrt.Locker) (*lockrt.Lease, *refusal) {
	lease, err := l.TryAcquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return nil, &refusal{err.Error()}
	}
	return lease, nil
}

func refused(ctx context.Context, l *lockrt.Locker) string {
	lease, no := lockOrRefuse(ctx, l)
	if no != nil {
		if no.reason == "" {
			return "busy"
		}
		return no.reason
	}
	defer lease.Release(ctx)
	return ""
}

func lockCode(ctx context.Context, l *lockrt.Locker) (*lockrt.Lease, int) {
	lease, err := l.TryAcquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return nil, 1
	}
	return lease, 0
}

func coded(ctx context.Context, l *lockrt.Locker) {
	lease, code := lockCode(ctx, l)
	if code != 0 {
		return
	}
	lease.Release(ctx)
}

func refusedLeaks(ctx context.Context, l *lockrt.Locker) string {
	lease, no := lockOrRefuse(ctx, l) // want `LL1001: the lease from lockOrRefuse is never released`
	if no != nil {
		return no.reason
	}
	lease.Check(ctx)
	return ""
}
