package lincheck

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/lockgen/lockgen/internal/testetcd"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

func TestMain(m *testing.M) {
	testetcd.BeServer()
	beStopper()
	code := m.Run()
	left := goleak.Find()
	for end := time.Now().Add(goneIn); left != nil && time.Now().Before(end); {
		left = goleak.Find() // which waits a while itself
	}
	if code == 0 && left != nil {
		fmt.Fprintln(os.Stderr, left)
		code = 1
	}
	os.Exit(code)
}

// goneIn is what goroutines may take to go. Where answers were lost, a session of ZooKeeper that was closed goes on for a
// while, and its client waits for an answer to its goodbye.
const goneIn = 20 * time.Second

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

func newLockers(t *testing.T, addr string, n int, cfg lockrt.Config) []*lockrt.Locker {
	t.Helper()
	lockers := make([]*lockrt.Locker, n)
	for i := range lockers {
		lockers[i] = newLocker(t, addr, 0, cfg)
	}
	return lockers
}

// run lets clients use one lock at random. Those of a Locker are callers of one process.
func run(t *testing.T, lockers []*lockrt.Locker, clients, rounds int, seed uint64, hangs bool) *history {
	t.Helper()
	return load{clients: clients, rounds: rounds, hangs: hangs, kinds: []visit{{}}}.run(t, lockers, seed)
}

// load is what clients do.
type load struct {
	clients, rounds int
	hangs           bool          // one lease in twenty runs out; leases are short
	kinds           []visit       // how they use the lock, one as often as the other
	stays, pauses   time.Duration // how long a lease lasts, and a client is away, at the most
}

// run returns what the clients saw. Where leases are short, or an acquire failed, that is without who was told that the
// lock is busy: somebody may be in the way of whom nobody knows, for he failed, or lost a grant on its way and goes on.
func (l load) run(t *testing.T, lockers []*lockrt.Locker, seed uint64) *history {
	t.Helper()
	ttl := time.Minute
	if l.hangs {
		ttl = 300 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), testsync.Patience)
	defer cancel()
	h := newHistory()
	var wg sync.WaitGroup
	for client := range l.clients {
		random := rand.New(rand.NewPCG(seed, uint64(client)))
		wg.Go(func() {
			for range l.rounds {
				v := l.kinds[random.IntN(len(l.kinds))]
				v.TTL = ttl
				if random.IntN(4) > 0 {
					v.Wait = lockrt.Forever
				}
				v.stays = upTo(random, l.stays)
				v.hangs = l.hangs && random.IntN(20) == 0
				err := h.once(ctx, client, lockers[client%len(lockers)], v)
				if err != nil && ctx.Err() != nil {
					t.Errorf("client %d: %v", client, err)
					return
				}
				pause := l.pauses
				if err != nil && !errors.Is(err, lockrt.ErrBusy) { // or all rounds would be over before the store is back
					pause = max(pause, 100*time.Millisecond)
				}
				time.Sleep(upTo(random, pause))
			}
		})
	}
	wg.Wait()
	if l.hangs || h.failed.Load() {
		h.forgetBusy()
	}
	return h
}

func upTo(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(d) + 1))
}

func TestLinearizable_withoutFaults(t *testing.T) {
	server := testenv.Redis(t)
	n := seed(t)
	for name, cfg := range map[string]lockrt.Config{"handing on locally": {}, "strict order": {LocalHandoffs: -1}} {
		t.Run(name, func(t *testing.T) {
			cfg.Namespace = name
			run(t, newLockers(t, server.Addr(), 3, cfg), 9, 40, n, false).mustBe(t, porcupine.Ok)
		})
	}
}

func TestLinearizable_leasesRunOut(t *testing.T) {
	server := testenv.Redis(t)
	run(t, newLockers(t, server.Addr(), 2, lockrt.Config{}), 6, 20, seed(t), true).mustBe(t, porcupine.Ok)
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
	h.mustBe(t, porcupine.Ok)
}

// Two databases do not exclude each other. If that passed, the rest would prove nothing.
func TestLinearizable_findsTwoHolders(t *testing.T) {
	server := testenv.Redis(t)
	lockers := []*lockrt.Locker{
		newLocker(t, server.Addr(), 0, lockrt.Config{}), newLocker(t, server.Addr(), 1, lockrt.Config{}),
	}
	ctx := t.Context()
	h := newHistory()
	o := lockrt.Options{TTL: time.Minute}
	var leases []*lockrt.Lease
	var shares []share
	for i, locks := range lockers {
		call := time.Now()
		lease, err := locks.Acquire(ctx, "k", o)
		if err != nil {
			t.Fatal(err)
		}
		leases, shares = append(leases, lease), append(shares, h.shareOf(lease, o))
		h.add(i, acquire, shares[i], h.at(call), h.at(time.Now()))
	}
	for i, lease := range leases {
		call := time.Now()
		if err := lease.Release(ctx); err != nil {
			t.Fatal(err)
		}
		h.add(i, release, shares[i], h.at(call), h.at(time.Now()))
	}
	h.mustBe(t, porcupine.Illegal)
}
