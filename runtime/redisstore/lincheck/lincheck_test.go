package lincheck

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seed is new in every run; LOCKGEN_SEED repeats one.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := rand.Uint64()
	if text := os.Getenv("LOCKGEN_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("LOCKGEN_SEED: %v", err)
		}
	}
	t.Logf("repeat with LOCKGEN_SEED=%d", n)
	return n
}

func newLocker(t *testing.T, addr string, db int, cfg lockrt.Config) *lockrt.Locker {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, DB: db, ContextTimeoutEnabled: true})
	cfg.Logger = slog.New(slog.DiscardHandler)
	locks, err := lockrt.New(redisstore.New(client, redisstore.Config{Liveness: time.Second}), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := locks.Close(ctx); err != nil {
			t.Logf("close: %v", err) // answers may be lost here too
		}
		_ = client.Close()
	})
	return locks
}

// run lets clients use one lock at random. Those of a Locker are callers of one process.
func run(t *testing.T, lockers []*lockrt.Locker, clients, rounds int, seed uint64, hangs bool) *history {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	h := newHistory()
	var wg sync.WaitGroup
	for client := range clients {
		random := rand.New(rand.NewPCG(seed, uint64(client)))
		wg.Go(func() {
			for range rounds {
				o := lockrt.Options{TTL: 300 * time.Millisecond}
				if random.IntN(4) > 0 {
					o.Wait = lockrt.Forever
				}
				if err := h.once(ctx, client, lockers[client%len(lockers)], o, hangs && random.IntN(20) == 0); err != nil && ctx.Err() != nil {
					t.Errorf("client %d: %v", client, err)
					return
				}
			}
		})
	}
	wg.Wait()
	return h
}

func TestLinearizable_withoutFaults(t *testing.T) {
	server := testenv.Redis(t)
	n := seed(t)
	for name, cfg := range map[string]lockrt.Config{"handing on locally": {}, "strict order": {LocalHandoffs: -1}} {
		t.Run(name, func(t *testing.T) {
			cfg.Namespace = name
			lockers := []*lockrt.Locker{newLocker(t, server.Addr(), 0, cfg), newLocker(t, server.Addr(), 0, cfg), newLocker(t, server.Addr(), 0, cfg)}
			run(t, lockers, 9, 40, n, false).mustBe(t, porcupine.Ok)
		})
	}
}

func TestLinearizable_leasesRunOut(t *testing.T) {
	server := testenv.Redis(t)
	lockers := []*lockrt.Locker{newLocker(t, server.Addr(), 0, lockrt.Config{}), newLocker(t, server.Addr(), 0, lockrt.Config{})}
	run(t, lockers, 6, 20, seed(t), true).mustBe(t, porcupine.Ok)
}

func TestLinearizable_answersLost(t *testing.T) {
	server := testenv.Redis(t)
	n := seed(t)
	lockers := make([]*lockrt.Locker, 3)
	for i := range lockers {
		c := newChaos(t, server.Addr(), n+uint64(i), 15)
		lockers[i] = newLocker(t, c.ln.Addr().String(), 0, lockrt.Config{})
	}
	h := run(t, lockers, 6, 25, n, true)
	h.forgetBusy() // somebody may be in the way of whom nobody knows: his own acquire failed
	h.mustBe(t, porcupine.Ok)
}

// Two databases do not exclude each other. If that passed, the rest would prove nothing.
func TestLinearizable_findsTwoHolders(t *testing.T) {
	server := testenv.Redis(t)
	lockers := []*lockrt.Locker{newLocker(t, server.Addr(), 0, lockrt.Config{}), newLocker(t, server.Addr(), 1, lockrt.Config{})}
	ctx := t.Context()
	h := newHistory()
	o := lockrt.Options{TTL: time.Minute}
	var leases []*lockrt.Lease
	for i, locks := range lockers {
		call := time.Now()
		lease, err := locks.Acquire(ctx, "k", o)
		if err != nil {
			t.Fatal(err)
		}
		h.add(i, step{acquire, lease.Fence()}, h.at(call), h.at(time.Now()))
		leases = append(leases, lease)
	}
	for i, lease := range leases {
		call := time.Now()
		if err := lease.Release(ctx); err != nil {
			t.Fatal(err)
		}
		h.add(i, step{release, lease.Fence()}, h.at(call), h.at(time.Now()))
	}
	h.mustBe(t, porcupine.Illegal)
}

// A fence that falls is as bad as two holders.
func TestLinearizable_findsFallingFence(t *testing.T) {
	h := newHistory()
	for i, f := range []lockrt.Fence{2, 1} {
		h.add(0, step{acquire, f}, int64(4*i), int64(4*i+1))
		h.add(0, step{release, f}, int64(4*i+2), int64(4*i+3))
	}
	h.mustBe(t, porcupine.Illegal)
}

func (h *history) forgetBusy() {
	var rest []porcupine.Operation
	for _, op := range h.ops {
		if op.Input.(step).action != busy {
			rest = append(rest, op)
		}
	}
	h.ops = rest
}
