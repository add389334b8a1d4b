package storetest

import (
	"errors"
	"testing"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// reentrantTests are about calls on a key that their call chain holds.
var reentrantTests = map[string]func(*testing.T, *env){
	"call_shares_the_lease_of_its_chain": func(t *testing.T, e *env) {
		a, b := e.locker("a"), e.locker("b")
		outer := e.acquire(a, "k")
		if _, err := a.Acquire(outer.Context(), "k", lockrt.Options{TTL: long}); !errors.Is(err, lockrt.ErrNested) {
			t.Errorf("acquire what the chain holds, not reentrant: %v, want ErrNested", err)
		}
		inner, err := a.Acquire(outer.Context(), "k", lockrt.Options{TTL: long, Reentrant: true})
		if err != nil {
			t.Fatal(err)
		}
		if inner.Fence() != outer.Fence() {
			t.Errorf("the inner fence is %d, want the outer one, %d", inner.Fence(), outer.Fence())
		}
		if err := errors.Join(inner.Check(e.ctx), inner.Release(e.ctx), outer.Check(e.ctx)); err != nil {
			t.Errorf("check and release the inner, check the outer: %v", err)
		}
		if _, err := b.TryAcquire(e.ctx, "k", lockrt.Options{TTL: long}); !errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("somebody else acquires it after the inner release: %v, want ErrBusy", err)
		}
		// What is not of the chain is somebody else, in the same process too.
		if _, err := a.TryAcquire(e.ctx, "k", lockrt.Options{TTL: long, Reentrant: true}); !errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("a call outside of the chain acquires it: %v, want ErrBusy", err)
		}
		if err := outer.Release(e.ctx); err != nil {
			t.Errorf("release the outer: %v", err)
		}
		next, err := b.Acquire(e.ctx, "k", lockrt.Options{TTL: long, Wait: testsync.Patience})
		if err != nil {
			t.Fatal(err)
		}
		if next.Fence() <= outer.Fence() {
			t.Errorf("fence %d after %d", next.Fence(), outer.Fence())
		}
	},

	"calls_end_with_the_lease_that_they_share": func(t *testing.T, e *env) {
		a, b := e.locker("a"), e.locker("b")
		outer := e.acquire(a, "k")
		inner, err := a.AcquireAll(outer.Context(), []string{"j", "k"}, lockrt.Options{TTL: long, Reentrant: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Break(e.ctx, "k", "test"); errors.Is(err, errors.ErrUnsupported) {
			t.Skip("this store cannot break locks")
		} else if err != nil {
			t.Fatal(err)
		}
		testsync.Eventually(t, "all contexts end", func() bool {
			return inner.Context().Err() != nil && outer.Context().Err() != nil
		})
		if err := inner.Release(e.ctx); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("release of the inner set: %v, want ErrLost", err)
		}
		if err := outer.Release(e.ctx); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("release of the outer: %v, want ErrLost", err)
		}
		testsync.Eventually(t, "both locks are free", func() bool { return len(e.heldKeys(b)) == 0 })
	},
}
