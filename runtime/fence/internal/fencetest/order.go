// Package fencetest checks from outside that fences are enforced, whatever enforces them.
package fencetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
)

// attempt is one write that was accepted, between two ticks of a clock that all goroutines share.
type attempt struct {
	fence      lockrt.Fence
	begun, end int64
}

// Order runs write with many fences on several goroutines at once, and fails the test if one was accepted that began
// after a write with a higher fence had been accepted. It returns the highest fence that was accepted. Errors other
// than ErrStale are passed to other, which says whether they are in order.
func Order(t testing.TB, fences, workers int, write func(lockrt.Fence) error, other func(error) bool) lockrt.Fence {
	t.Helper()
	var clock atomic.Int64
	var mu sync.Mutex
	var accepted []attempt
	var wg sync.WaitGroup
	work := make(chan lockrt.Fence)
	for range workers {
		wg.Go(func() {
			for f := range work {
				begun := clock.Add(1)
				err := write(f)
				end := clock.Add(1)
				switch {
				case err == nil:
					mu.Lock()
					accepted = append(accepted, attempt{f, begun, end})
					mu.Unlock()
				case !errors.Is(err, fence.ErrStale) && !other(err):
					t.Errorf("write with fence %s: %v", f, err)
				}
			}
		})
	}
	for _, f := range shuffledNearby(fences) {
		work <- f
	}
	close(work)
	wg.Wait()
	var highest lockrt.Fence
	for _, late := range accepted {
		highest = max(highest, late.fence)
		for _, early := range accepted {
			if early.end < late.begun && early.fence > late.fence {
				t.Errorf("fence %s was accepted although %s had been", late.fence, early.fence)
			}
		}
	}
	return highest
}

// shuffledNearby returns growing fences with neighbours out of order, so that some are stale and some are not. They
// cross 2^53, where doubles stop telling neighbours apart.
func shuffledNearby(n int) []lockrt.Fence {
	fences := make([]lockrt.Fence, n)
	for i := range fences {
		fences[i] = 1<<53 - lockrt.Fence(n/2) + lockrt.Fence(i)
	}
	const reach = 6
	for from := 0; from < n; from += reach {
		part := fences[from:min(from+reach, n)]
		rand.Shuffle(len(part), func(i, k int) { part[i], part[k] = part[k], part[i] })
	}
	return fences
}

// State checks what a fence.State must do.
func State(t *testing.T, s fence.State) {
	t.Run("order", func(t *testing.T) {
		ctx := t.Context()
		highest := Order(t, 300, 8, func(f lockrt.Fence) error { return s.Check(ctx, "order", f) },
			func(error) bool { return false })
		if err := s.Check(ctx, "order", highest); err != nil {
			t.Errorf("the highest fence again: %v", err)
		}
		var stale *fence.StaleError
		if err := s.Check(ctx, "order", highest-1); !errors.As(err, &stale) || stale.Highest != highest {
			t.Errorf("one below the highest %s: %v", highest, err)
		}
	})
	t.Run("values", func(t *testing.T) { Values(t, s.Check) })
}

// Values checks the comparison of fences at the edges of the numbers that are in the way, with a fresh resource each.
func Values(t *testing.T, check func(ctx context.Context, resource string, f lockrt.Fence) error) {
	for _, higher := range []lockrt.Fence{2, 10, 100, 1 << 10, 1<<31 + 1, 1 << 32, 1<<53 + 1, 1 << 53, 1e18, 1<<63 - 1} {
		lower := higher - 1
		resource := "value:" + higher.String()
		for _, f := range []lockrt.Fence{lower, higher, higher} {
			if err := check(t.Context(), resource, f); err != nil {
				t.Errorf("%s after none higher: %v", f, err)
			}
		}
		var stale *fence.StaleError
		err := check(t.Context(), resource, lower)
		if !errors.As(err, &stale) || !errors.Is(err, fence.ErrStale) || *stale != (fence.StaleError{Resource: resource, Given: lower, Highest: higher}) {
			t.Errorf("%s after %s: %v", lower, higher, err)
		}
	}
	for name, bad := range map[string]struct {
		resource string
		fence    lockrt.Fence
	}{
		"no fence":         {"r", 0},
		"fence of 64 bits": {"r", 1 << 63},
		"no resource":      {"", 1},
		"long resource":    {string(make([]byte, 513)), 1},
		"zero byte":        {"a\x00b", 1},
		"broken UTF-8":     {"a\xff", 1},
	} {
		if err := check(t.Context(), bad.resource, bad.fence); !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}
