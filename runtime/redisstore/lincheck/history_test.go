package lincheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// history is what all clients saw of one lock.
type history struct {
	began  time.Time
	failed atomic.Bool // an acquire ended with another error than ErrBusy

	mu     sync.Mutex // guards what follows
	ops    []porcupine.Operation
	leases int
}

func newHistory() *history { return &history{began: time.Now()} }

// never is the end of an operation that nobody saw end.
const never = math.MaxInt64

func (h *history) at(t time.Time) int64 { return int64(t.Sub(h.began)) }

func (h *history) add(client int, a action, s share, call, ret int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: step{a, s}, Call: call, Return: ret})
}

// check asks porcupine. A search without an end is a failure too: the bounds are such that it ends.
func (h *history) check() porcupine.CheckResult {
	h.mu.Lock()
	defer h.mu.Unlock()
	return porcupine.CheckOperationsTimeout(sequential, h.ops, time.Minute)
}

// shareOf names a lease.
func (h *history) shareOf(lease *lockrt.Lease, o lockrt.Options) share {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leases++
	return share{h.leases, lease.Fence(), o.Mode, o.Permits, lease.Slot()}
}

// visit is one use of the lock.
type visit struct {
	lockrt.Options
	hangs      bool // the lease runs out
	downgrades bool
	stays      time.Duration
}

// once acquires, works and releases, and records what it saw. An acquire that failed is not recorded: what it may have
// taken was given back, at times that nobody knows, and forbids nothing to the others.
func (h *history) once(ctx context.Context, client int, locks *lockrt.Locker, v visit) error {
	v.NoRenew = v.hangs
	call := time.Now()
	lease, err := locks.Acquire(ctx, "k", v.Options)
	if errors.Is(err, lockrt.ErrBusy) && ctx.Err() == nil {
		h.add(client, busy, share{mode: v.Mode, permits: v.Permits}, h.at(call), h.at(time.Now()))
		return nil
	}
	if err != nil {
		h.failed.Store(true)
		return err
	}
	s := h.shareOf(lease, v.Options)
	h.add(client, acquire, s, h.at(call), h.at(time.Now()))
	if time.Sleep(v.stays); v.hangs {
		<-lease.Done()
	}
	if v.downgrades {
		deadline := lease.Deadline()
		call = time.Now()
		switch err := lease.Downgrade(ctx); {
		case err == nil:
			s.fence, s.mode = lease.Fence(), lockrt.Read
			h.add(client, downgrade, s, h.at(call), h.at(time.Now()))
		default: // it may read or write; readers may have its fence
			h.add(client, tryDowngrade, s, h.at(call), never)
			if errors.Is(err, lockrt.ErrLost) {
				call = earlier(call, deadline)
			}
			h.end(ctx, client, lease, s, call)
			return nil
		}
	}
	deadline := lease.Deadline()
	call = time.Now()
	switch err := lease.Release(ctx); {
	case err == nil:
		h.add(client, release, s, h.at(call), h.at(time.Now()))
	case errors.Is(err, lockrt.ErrLost):
		// Nobody else may hold it before its deadline.
		h.add(client, expire, s, h.at(deadline), never)
	default:
		h.add(client, expire, s, h.at(call), never)
	}
	return nil
}

// end ends a lease of which nothing is known from a moment on.
func (h *history) end(ctx context.Context, client int, lease *lockrt.Lease, s share, from time.Time) {
	h.add(client, expire, s, h.at(from), never)
	_ = lease.Release(ctx)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (h *history) forgetBusy() {
	h.ops = slices.DeleteFunc(h.ops, func(op porcupine.Operation) bool { return op.Input.(step).action == busy })
}

// String has one line for each operation, in the order in which they began: when that was and when they ended, in
// microseconds, whose it was, and what.
func (h *history) String() string {
	ops := slices.SortedFunc(slices.Values(h.ops), func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var b strings.Builder
	for _, op := range ops {
		end := "never"
		if op.Return != never {
			end = strconv.FormatInt(op.Return/1000, 10)
		}
		fmt.Fprintf(&b, "%9d %9s  client %d  %s\n", op.Call/1000, end, op.ClientId, op.Input)
	}
	return b.String()
}

func (h *history) mustBe(t *testing.T, want porcupine.CheckResult) {
	t.Helper()
	counts := map[action]int{}
	for _, op := range h.ops {
		counts[op.Input.(step).action]++
	}
	if got := h.check(); got != want {
		t.Errorf("porcupine says %s, want %s:\n%s", got, want, h)
	}
	t.Logf("%d acquisitions, %d busy, %d downgrades, %d releases, %d leases that ran out or were given up",
		counts[acquire], counts[busy], counts[downgrade], counts[release], counts[expire])
	if counts[acquire] == 0 {
		t.Error("nobody acquired anything: the test did not test anything")
	}
}
