package sqltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
)

// TestStore_newcomers has nodes that start at the same moment make the same jobs known, in different orders, and put the
// same one-off jobs: none fails, and all hear the same.
func TestStore_newcomers(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		const nodes, many = 6, 60
		e.store()
		namespace := fmt.Sprint("n", e.n.Load())
		var wg sync.WaitGroup
		cursors := make([]map[string]time.Time, nodes)
		begin := make(chan struct{})
		for n := range nodes {
			s := sqlstore.New(e.db, sqlstore.Config{Namespace: namespace})
			r := jobs.Registration{Session: fmt.Sprint("node-", n), Grace: time.Minute}
			for i := range many {
				if n%2 == 1 {
					i = many - 1 - i
				}
				r.Offers = append(r.Offers, jobs.Offer{Definition: jobs.Definition{Job: fmt.Sprint("job-", i)}})
			}
			cursors[n] = make(map[string]time.Time)
			wg.Go(func() {
				<-begin
				v, err := s.Register(context.Background(), r)
				if err != nil {
					t.Error(err)
				}
				for i, j := range v.Jobs {
					cursors[n][r.Offers[i].Definition.Job] = j.Cursor
				}
				for i := range 10 {
					if err := s.Put(context.Background(), letter(fmt.Sprint("letter-", i))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		close(begin)
		wg.Wait()
		for n := range nodes {
			for job, cursor := range cursors[n] {
				if !cursor.Equal(cursors[0][job]) || cursor.IsZero() {
					t.Fatalf("node %d heard that %s has the cursor %s, and the first node %s", n, job, cursor, cursors[0][job])
				}
			}
		}
	})
}

// TestStore_withdrawOrClaim has one-off jobs claimed, by two handlers, and withdrawn at the same time: one of them gets
// each.
func TestStore_withdrawOrClaim(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		const many = 25
		first := e.store()
		stores := []*sqlstore.Store{first}
		for range 2 {
			stores = append(stores, sqlstore.New(e.db, sqlstore.Config{Namespace: fmt.Sprint("n", e.n.Load())}))
		}
		for i := range many {
			if err := first.Put(t.Context(), letter(fmt.Sprint("letter-", i))); err != nil {
				t.Fatal(err)
			}
		}
		for i := range many {
			id := fmt.Sprint("letter-", i)
			got := make([]bool, 3)
			var wg sync.WaitGroup
			for n, s := range stores[:2] {
				job := fmt.Sprint("one-off:handler-", n)
				c := jobs.Claim{
					Job: job, OneOff: id, Due: time.Unix(1, 0), Lease: time.Minute,
					InFlight: &jobs.InFlight{Owner: "o", Run: jobs.Run{ID: fmt.Sprint(job, "@", i), Job: job, OneOff: id}},
				}
				wg.Go(func() {
					answer := s.Claim(context.Background(), []jobs.Claim{c})[0]
					if got[n] = answer.Status == jobs.ClaimWon; answer.Err != nil {
						t.Error(answer.Err)
					}
				})
			}
			wg.Go(func() {
				err := stores[2].Withdraw(context.Background(), id)
				if got[2] = err == nil; err != nil && !errors.Is(err, jobs.ErrGone) {
					t.Error(err)
				}
			})
			wg.Wait()
			n := 0
			for _, g := range got {
				if g {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%s was had by %d: claimed %t and %t, withdrawn %t", id, n, got[0], got[1], got[2])
			}
		}
	})
}

// TestStore_loss takes from a store what a session knows that it had: its next heartbeat hears of it, once.
func TestStore_loss(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s := e.store()
		beat := func(stamp string) jobs.HeartbeatReply {
			t.Helper()
			r, err := s.Heartbeat(t.Context(), jobs.Heartbeat{Session: "s", Lease: time.Minute, Stamp: stamp})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		stamp := ""
		for range 2 { // a stamp is good for more than one heartbeat
			r := beat(stamp)
			if stamp = r.Stamp; r.Lost {
				t.Fatal("a store seems lost that is not")
			}
		}
		for _, query := range []string{"DELETE FROM lockgen_node", "UPDATE lockgen_node SET beat = beat - 1000000"} {
			e.exec(t, query)
			if r := beat(stamp); !r.Lost {
				t.Errorf("after %s the store does not seem lost", query)
			} else if stamp = r.Stamp; beat(stamp).Lost {
				t.Errorf("after %s the store seems lost twice", query)
			}
		}
	})
}

// deadlocks is how many PostgreSQL has broken.
func (e *engine) deadlocks(t *testing.T) (n int) {
	t.Helper()
	query := "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
	if err := openDB(t, "pgx", e.url).QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
