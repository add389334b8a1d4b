package etcdtest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// tight are servers that take less in one transaction than there are callers, for its parts or for its size.
var tight = map[string]struct {
	maxOps uint
	key    string
	many   int
}{
	"few operations": {16, "k", 40},
	"long keys":      {0, strings.Repeat("/", 4090), 90},
}

// Those who wait behind a writer come in, all of them, also if that takes several transactions.
func TestShare_letInByParts(t *testing.T) {
	for name, tt := range tight {
		for kind, o := range map[string]lockrt.Options{
			"readers": {TTL: long, Wait: lockrt.Forever, Mode: lockrt.Read},
			"permits": {TTL: long, Wait: lockrt.Forever, Permits: tt.many},
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				c := start(t, 1, testetcd.Options{MaxOps: tt.maxOps})
				locks := newLocker(t, c, "n", lockrt.Config{LocalHandoffs: -1})
				writer := acquire(t, locks, tt.key, lockrt.Options{TTL: long})
				got := make(chan error, tt.many)
				for i := range tt.many {
					if i%4 == 0 { // what so many do at once to a slow disk is another test's matter
						eventually(t, "those before stand in the queue", func() bool { return len(c.keys(t)) >= i+1 || len(got) > 0 })
					}
					go func() {
						_, err := locks.Acquire(t.Context(), tt.key, o)
						for err != nil && silent(err) { // a busy machine
							_, err = locks.Acquire(t.Context(), tt.key, o)
						}
						got <- err
					}()
				}
				eventually(t, "all stand in the queue", func() bool { return len(c.keys(t)) == tt.many+2 || len(got) > 0 })
				if len(got) > 0 {
					t.Fatalf("one does not wait: %.300v", <-got)
				}
				release(t, writer)
				for range tt.many {
					if err := <-got; err != nil {
						t.Fatalf("one does not come in: %.300v", err)
					}
				}
			})
		}
	}
}

// Leases are renewed and looked at, more of them than one transaction reads.
func TestSession_Renew_byParts(t *testing.T) {
	for name, tt := range tight {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowdIn(t, start(t, 1, testetcd.Options{MaxOps: tt.maxOps}))
			var renewals []lockrt.Renewal
			var held []lockrt.HeldLease
			for i := range 2 * tt.many {
				r := lockrt.Request{Key: fmt.Sprint(tt.key, i), ID: fmt.Sprint("id", i), TTL: long, Wait: time.Minute}
				grant, err := c.session.Acquire(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				renewals = append(renewals, lockrt.Renewal{Key: r.Key, ID: r.ID, TTL: long, Epoch: grant.Epoch})
				held = append(held, lockrt.HeldLease{Key: r.Key, ID: r.ID, Epoch: grant.Epoch})
			}
			for what, errs := range map[string][]error{
				"renewed": c.session.Renew(t.Context(), renewals),
				"checked": c.session.(lockrt.Checker).Check(t.Context(), held),
			} {
				for i, err := range errs {
					if err != nil {
						t.Fatalf("lease %d is not %s: %.300v", i, what, err)
					}
				}
			}
		})
	}
}

// Servers that take fewer operations are asked for fewer at a time, and not for each alone.
func TestTogether_fewOperations(t *testing.T) {
	c := newCrowdIn(t, start(t, 1, testetcd.Options{MaxOps: 16}))
	c.warm(long)
	for round := range 30 {
		var requests []lockrt.Request
		for i := range many {
			requests = append(requests, lockrt.Request{
				Key: fmt.Sprint("k", i), ID: fmt.Sprint("id", round, "-", i), TTL: long, Wait: time.Minute,
			})
		}
		got, calls := c.all(requests)
		c.releaseAll(requests, got)
		c.calls.mu.Lock()
		widest := c.calls.widest
		c.calls.mu.Unlock()
		if t.Logf("%d transactions, the widest of %d parts", calls, widest); widest > 5 {
			return
		}
	}
	t.Error("the callers shared no transaction")
}

// All readers hear that somebody waits, also if they are more than one transaction tells.
func TestShare_recallByParts(t *testing.T) {
	c := start(t, 1, testetcd.Options{MaxOps: 16})
	var mu sync.Mutex
	told := make(map[string]bool)
	s, err := etcdstore.New(c.client(t), etcdstore.Config{}).Open(lockrt.SessionConfig{
		Namespace: "lock", Node: "n", Logger: slog.New(slog.DiscardHandler), Lost: func(string, error) {},
		Recall: func(id string) {
			mu.Lock()
			defer mu.Unlock()
			told[id] = true
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	const readers = 40
	for i := range readers {
		r := lockrt.Request{Key: "k", ID: fmt.Sprint("id", i), TTL: long, Mode: lockrt.Read}
		if _, err := s.Acquire(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := s.Acquire(ctx, lockrt.Request{Key: "k", ID: "writer", TTL: long, Wait: time.Minute})
		gone <- err
	}()
	eventually(t, "all readers are recalled", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(told) == readers
	})
	cancel()
	<-gone
}

// Servers that do not take even one lock's transaction are named with what to do.
func TestOpen_tooFewOperations(t *testing.T) {
	c := start(t, 1, testetcd.Options{MaxOps: 2})
	locks := newLocker(t, c, "n", lockrt.Config{})
	_, err := locks.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long, Mode: lockrt.Read})
	says(t, err, "too many operations", "--max-txn-ops", "4 operations")
}
