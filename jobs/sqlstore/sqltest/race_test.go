package sqltest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
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

// TestStore_lockedJob has somebody lock the row of one job, as a process does that is stopped in a transaction: the others
// do not wait for it.
func TestStore_lockedJob(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		if e.name == "sqlite" {
			t.Skip("the whole file has one writer")
		}
		const many, stuck = 20, 7
		s := e.store()
		r := jobs.Registration{Session: "s"}
		for i := range many {
			r.Offers = append(r.Offers, jobs.Offer{Definition: jobs.Definition{Job: fmt.Sprint("job-", i)}})
		}
		view, err := s.Register(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		tx := begin(t, e)
		defer tx.Rollback()
		result, err := tx.Exec(fmt.Sprintf("UPDATE lockgen_job SET missed = missed + 1 WHERE namespace = 'n%d' AND name = 'job-%d'",
			e.n.Load(), stuck))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := result.RowsAffected(); n != 1 || err != nil {
			t.Fatalf("%d rows are locked, %v", n, err)
		}
		claims := stormClaims(view, 0, 0, many)
		starts, finishes := make([]jobs.Start, many), make([]jobs.Finish, many)
		for i, got := range s.Claim(t.Context(), claims) {
			run := claims[i].InFlight.Run
			starts[i] = jobs.Start{Run: run, Owner: claims[i].InFlight.Owner, Lease: time.Minute}
			run.Outcome, run.Started, run.Ended = jobs.OutcomeOK, view.Now, view.Now
			finishes[i] = jobs.Finish{Run: run, Owner: claims[i].InFlight.Owner, Lease: time.Minute, Keep: 10}
			if i == stuck {
				if got.Err == nil || !strings.Contains(got.Err.Error(), "locked by another transaction") {
					t.Errorf("claim of a job whose row is locked: %+v", got)
				}
			} else if got.Err != nil || got.Status != jobs.ClaimWon {
				t.Errorf("claim of job %d beside it: %+v", i, got)
			}
		}
		for what, errs := range map[string][]error{"start": s.Start(t.Context(), starts), "end": s.Finish(t.Context(), finishes)} {
			for i, err := range errs {
				if (err != nil) != (i == stuck) {
					t.Errorf("%s of a run of job %d: %v", what, i, err)
				}
			}
		}
	})
}

// TestStore_loss takes from a store what a session knows that it had: its next heartbeat hears of it, once.
func TestStore_loss(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		s := e.store()
		heartbeat := func(stamp string) jobs.HeartbeatReply {
			t.Helper()
			r, err := s.Heartbeat(t.Context(), jobs.Heartbeat{Session: "s", Lease: time.Minute, Stamp: stamp})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		stamp := ""
		for range 2 { // a stamp is good for more than one heartbeat
			r := heartbeat(stamp)
			if stamp = r.Stamp; r.Lost {
				t.Fatal("a store seems lost that is not")
			}
		}
		e.exec(t, "CREATE TABLE backup AS SELECT * FROM lockgen_node")
		stamp = heartbeat(stamp).Stamp
		e.exec(t, "DELETE FROM lockgen_node")
		heartbeat(stamp) // of which the answer is lost: the next tells all the same
		r := heartbeat(stamp)
		if !r.Lost {
			t.Error("when it has forgotten the session the store does not seem lost")
		}
		stamp = r.Stamp
		e.exec(t, "DELETE FROM backup")
		e.exec(t, "INSERT INTO backup SELECT * FROM lockgen_node")
		stamp = heartbeat(stamp).Stamp
		for _, query := range []string{"DELETE FROM lockgen_node", "INSERT INTO lockgen_node SELECT * FROM backup"} {
			e.exec(t, query)
		}
		if r = heartbeat(stamp); !r.Lost {
			t.Error("when it is as it was before the last heartbeat, the store does not seem lost")
		} else if stamp = r.Stamp; heartbeat(stamp).Lost {
			t.Error("the store seems lost twice")
		}
		// Others delete the session of a node that has stopped for longer, and that has not lost anything.
		stamp = heartbeat(stamp).Stamp
		e.exec(t, "DELETE FROM lockgen_node")
		parts := strings.Fields(stamp)
		at, err := strconv.ParseInt(parts[2], 10, 64)
		if err != nil {
			t.Fatal(stamp, err)
		}
		parts[2] = fmt.Sprint(at - (24*time.Hour + time.Minute).Microseconds())
		if heartbeat(strings.Join(parts, " ")).Lost {
			t.Error("to a session that is over the store seems lost")
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
