package lincheck

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// history is what all clients saw of one lock.
type history struct {
	began time.Time

	mu  sync.Mutex
	ops []porcupine.Operation
}

func newHistory() *history { return &history{began: time.Now()} }

// never is the end of an operation that nobody saw end.
const never = math.MaxInt64

func (h *history) at(t time.Time) int64 { return int64(t.Sub(h.began)) }

func (h *history) add(client int, s step, call, ret int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: s, Call: call, Return: ret})
}

// check asks porcupine. A search without an end is a failure too: the bounds are such that it ends.
func (h *history) check() porcupine.CheckResult {
	h.mu.Lock()
	defer h.mu.Unlock()
	return porcupine.CheckOperationsTimeout(sequential, h.ops, time.Minute)
}

// once acquires, works and releases, and records what it saw. hang lets the lease run out instead. An acquire that failed is
// not recorded: what it may have taken was given back, at times that nobody knows, and forbids nothing to the others.
func (h *history) once(ctx context.Context, client int, locks *lockrt.Locker, o lockrt.Options, hang bool) error {
	o.NoRenew = hang
	call := time.Now()
	lease, err := locks.Acquire(ctx, "k", o)
	if errors.Is(err, lockrt.ErrBusy) && ctx.Err() == nil {
		h.add(client, step{action: busy}, h.at(call), h.at(time.Now()))
		return nil
	}
	if err != nil {
		return err
	}
	h.add(client, step{acquire, lease.Fence()}, h.at(call), h.at(time.Now()))
	if hang {
		<-lease.Done()
	}
	deadline := lease.Deadline()
	call = time.Now()
	switch err := lease.Release(ctx); {
	case err == nil:
		h.add(client, step{release, lease.Fence()}, h.at(call), h.at(time.Now()))
	case errors.Is(err, lockrt.ErrLost):
		// Nobody else may hold it before its deadline.
		h.add(client, step{expire, lease.Fence()}, h.at(deadline), never)
	default:
		h.add(client, step{expire, lease.Fence()}, h.at(call), never)
	}
	return nil
}

func (h *history) mustBe(t *testing.T, want porcupine.CheckResult) {
	t.Helper()
	counts := map[action]int{}
	for _, op := range h.ops {
		counts[op.Input.(step).action]++
	}
	if got := h.check(); got != want {
		t.Errorf("porcupine says %s, want %s, of %d acquisitions, %d busy, %d releases, %d leases that ran out",
			got, want, counts[acquire], counts[busy], counts[release], counts[expire])
	}
	t.Logf("%d acquisitions, %d busy, %d releases, %d leases that ran out or were given up", counts[acquire], counts[busy], counts[release], counts[expire])
	if counts[acquire] == 0 {
		t.Error("nobody acquired anything: the test did not test anything")
	}
}
