package sqltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	"github.com/lockgen/lockgen/jobs"
)

// lockingRows runs a test on the databases that lock rows and not the whole file, on both at once.
func lockingRows(t *testing.T, test func(*testing.T, *engine)) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *engine{"postgres": postgres, "mariadb": mariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// mariaDBWaits is how many statements wait for a row. Those tables of MySQL and of MariaDB that both have are read anew
// only when nobody has asked for a while.
var mariaDBWaits = map[bool]string{
	true:  "SELECT count(*) FROM performance_schema.data_locks WHERE object_schema = database() AND lock_status = 'WAITING'",
	false: "SELECT count(*) FROM information_schema.processlist WHERE db = database() AND time_ms > 100 AND info IS NOT NULL AND id <> connection_id()",
}[testenv.OnMySQL()]

// waitForRows is how many callers wait for a row that another transaction has locked.
func (e *engine) waitForRows(t *testing.T) (n int) {
	t.Helper()
	query := "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
	if e.name == "mariadb" {
		query = mariaDBWaits
	}
	if err := e.db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Callers who wait for a row that a transaction of the application has locked keep a node neither from its signs of life nor from
// its steps.
func TestStore_callersWaitForARow(t *testing.T) {
	lockingRows(t, func(t *testing.T, e *engine) {
		const callers = 10
		s, tx := e.store(), begin(t, e)
		if err := s.PutTx(t.Context(), tx, letter("x")); err != nil {
			t.Fatal(err)
		}
		var over atomic.Int64
		var puts sync.WaitGroup
		for range callers {
			puts.Go(func() {
				_ = s.Put(context.Background(), letter("x"))
				over.Add(1)
			})
		}
		testsync.Eventually(t, "callers wait for the row", func() bool { return e.waitForRows(t) >= 2 })
		for i := range 20 { // by the last ones all slots are taken that callers get
			_, err := s.Heartbeat(t.Context(), jobs.Heartbeat{Session: "s", Lease: time.Minute})
			run := jobs.Run{ID: fmt.Sprint("j@", i), Job: fmt.Sprint("j", i)}
			_, err2 := s.Register(t.Context(), jobs.Registration{Session: "s", Offers: []jobs.Offer{{Definition: jobs.Definition{Job: run.Job}}}})
			f := jobs.Finish{Run: run, Owner: "s", Keep: 1}
			err3 := s.Finish(t.Context(), []jobs.Finish{f})[0]
			if err := errors.Join(err, err2); err != nil || !errors.Is(err3, jobs.ErrGone) {
				t.Fatal(err, err3)
			}
			if n := over.Load(); n > 0 {
				t.Fatalf("%d of the callers were not waited out, but waited for", n)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		puts.Wait()
	})
}

// Callers who put a job that is known do not wait for a transaction that does so too.
func TestStore_Put_knownBesideOpenTx(t *testing.T) {
	lockingRows(t, func(t *testing.T, e *engine) {
		s := e.store()
		if err := s.Put(t.Context(), letter("x")); err != nil {
			t.Fatal(err)
		}
		tx := begin(t, e)
		defer tx.Rollback()
		if err := errors.Join(s.PutTx(t.Context(), tx, letter("x")), s.Put(t.Context(), letter("x"))); err != nil {
			t.Error(err)
		}
	})
}

// A transaction of the application has put jobs again that wait, and stays open: those are left alone until it has ended, in
// a claim of one too, and the others are claimed.
func TestStore_Claim_besideOpenPutTx(t *testing.T) {
	lockingRows(t, func(t *testing.T, e *engine) {
		s, others := e.store(), begin(t, e)
		var claims []jobs.Claim
		for i := range 20 {
			o, job := letter(fmt.Sprint("o", i)), fmt.Sprint("one-off:h", i%2)
			if err := s.PutTx(t.Context(), others, o); err != nil {
				t.Fatal(err)
			}
			claims = append(claims, jobs.Claim{
				Job: job, OneOff: o.ID, Tick: o.At, Due: time.Unix(1, 0), Lease: time.Minute,
				InFlight: &jobs.InFlight{Owner: "o", Run: jobs.Run{ID: "r" + o.ID, Job: job, OneOff: o.ID}},
			})
		}
		if err := others.Commit(); err != nil {
			t.Fatal(err)
		}
		tx := begin(t, e)
		for _, id := range []string{"o3", "o8"} {
			if err := s.PutTx(t.Context(), tx, letter(id)); err != nil {
				t.Fatal(err)
			}
		}
		want := func(claims []jobs.Claim, locked jobs.ClaimStatus) {
			t.Helper()
			for i, got := range s.Claim(t.Context(), claims) {
				status := jobs.ClaimWon
				if id := claims[i].OneOff; id == "o3" || id == "o8" {
					status = locked
				}
				if got.Err != nil || got.Status != status {
					t.Errorf("claim of %s: %+v, want %d", claims[i].OneOff, got, status)
				}
			}
		}
		want(claims[3:4], jobs.ClaimTaken)
		want(claims, jobs.ClaimTaken)
		reply, err := s.Heartbeat(t.Context(), jobs.Heartbeat{Session: "s", Lease: time.Minute, Horizon: 2 * time.Hour})
		if err != nil || len(reply.Due) != 2 {
			t.Errorf("told of %+v, %v; want the two", reply.Due, err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		want(claims, jobs.ClaimWon)
	})
}

// What a store has lost is put back although a transaction of the application has locked a one-off job: all but that.
func TestStore_Restore_besideOpenPutTx(t *testing.T) {
	lockingRows(t, func(t *testing.T, e *engine) {
		s, tx := e.store(), begin(t, e)
		if err := s.PutTx(t.Context(), tx, letter("x")); err != nil {
			t.Fatal(err)
		}
		restored := make(chan error, 1)
		go func() {
			restored <- s.Restore(context.Background(), jobs.Memory{
				Pauses: []jobs.PauseState{{Job: "j", Version: 7, Pause: &jobs.Pause{Author: "ada"}}}, Waiting: []jobs.OneOff{letter("x")},
			})
		}()
		testsync.Eventually(t, "the pause is put back", func() bool {
			v, err := s.Look(t.Context(), []string{"j"})
			if err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-restored:
				t.Fatalf("beside the open transaction: %v", err)
			default:
			}
			return v.Jobs[0].Paused != nil
		})
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-restored; err != nil {
			t.Error(err)
		}
	})
}
