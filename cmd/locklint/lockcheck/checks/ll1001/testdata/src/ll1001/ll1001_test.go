package ll1001

import (
	"context"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// A test may leave its lock behind, but not on some paths only.

func TestLeft(t *testing.T) {
	lease, err := new(lockrt.Locker).Acquire(context.Background(), "a", lockrt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if lease.Fence() == 0 {
		t.Error("no fence")
	}
}

func TestForgotten(t *testing.T) {
	ctx := context.Background()
	lease, err := new(lockrt.Locker).Acquire(ctx, "a", lockrt.Options{}) // want `LL1001: the lease from Acquire is not released on every path`
	if err != nil {
		t.Fatal(err)
	}
	if lease.Fence() == 0 {
		return
	}
	lease.Release(ctx)
}
