package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
)

// schedulerTime is what a scheduler gives a call. In MySQL a second's wait for a row is up to two, which leaves a slow machine
// too little of it.
var schedulerTime = map[bool]time.Duration{false: 3 * time.Second, true: 6 * time.Second}[testenv.OnMySQL()]

// lock has a transaction lock what a statement finds, and nothing else.
func (e *engine) lock(t *testing.T, query string) (tx *sql.Tx) {
	t.Helper()
	tx, err := e.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	if _, err := tx.ExecContext(t.Context(), query+" FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	return tx
}

// manual is a claim of a run that somebody asks for.
func manual(job, id, owner string) jobs.Claim {
	return jobs.Claim{
		Job: job, Manual: true, Lease: time.Minute, InFlight: &jobs.InFlight{Owner: owner, Run: jobs.Run{ID: id, Job: job}},
	}
}

func offers(names ...string) jobs.Registration {
	r := jobs.Registration{Session: "s"}
	for _, name := range names {
		r.Offers = append(r.Offers, jobs.Offer{Definition: jobs.Definition{Job: name}})
	}
	return r
}

// Another transaction keeps the row of a job locked. A scheduler that asks for that job alone hears so within its time, and
// waits only once: others that are asked for later are not held up.
func TestStore_lockedJobAlone(t *testing.T) {
	lockingRows(t, func(t *testing.T, e *engine) {
		cfg := sqlstore.Config{Namespace: "own"}
		s := sqlstore.New(e.db, cfg)
		_, err := s.Register(t.Context(), offers("j", "k"))
		if c := s.Claim(t.Context(), []jobs.Claim{manual("j", "j@1", "s"), manual("k", "k@1", "s")}); err != nil || c[0].Err != nil {
			t.Fatal(err, c)
		}
		run := jobs.Run{ID: "j@1", Job: "j", Outcome: jobs.OutcomeOK}
		calls := map[string]func(context.Context) error{
			"claim": func(ctx context.Context) error { return s.Claim(ctx, []jobs.Claim{manual("j", "j@2", "s")})[0].Err },
			"start": func(ctx context.Context) error { return s.Start(ctx, []jobs.Start{{Run: run, Owner: "s"}})[0] },
			"finish": func(ctx context.Context) error {
				return s.Finish(ctx, []jobs.Finish{{Run: run, Owner: "s", Keep: 1}})[0]
			},
			"register": func(ctx context.Context) error {
				v, err := s.Register(ctx, offers("j", "k"))
				if err == nil && v.Jobs[1].Err != nil {
					t.Errorf("the other job: %v", v.Jobs[1].Err)
				}
				return errors.Join(err, v.Jobs[0].Err)
			},
		}
		tx := e.lock(t, "SELECT 1 FROM lockgen_job WHERE name = 'j'")
		for name, call := range calls {
			s = sqlstore.New(e.db, cfg) // which does not know yet
			ctx, cancel := context.WithTimeout(t.Context(), schedulerTime)
			if err := call(ctx); !errors.Is(err, jobs.ErrLocked) || ctx.Err() != nil {
				t.Errorf("%s: %v, %v; want ErrLocked in time", name, err, ctx.Err())
			}
			cancel()
		}
		ctx, cancel := context.WithTimeout(t.Context(), schedulerTime) // in which nobody waits six times
		defer cancel()
		for range 6 {
			c := s.Claim(ctx, []jobs.Claim{manual("j", "j@2", "s"), manual("k", "k@2", "s")})
			if !errors.Is(c[0].Err, jobs.ErrLocked) || c[1].Status != jobs.ClaimWon {
				t.Errorf("once it is known: %+v", c)
			}
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		for name, call := range calls {
			if err := call(t.Context()); err != nil {
				t.Errorf("%s of the job that was locked: %v", name, err)
			}
			if name == "finish" { // the others need the run
				m := jobs.Memory{InFlight: []jobs.InFlight{*manual("j", "j@1", "s").InFlight}, Lease: time.Minute}
				if err := s.Restore(t.Context(), m); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// Another transaction keeps the session of a node locked that is dead: what it has left waits, and what others have left does
// not.
func TestStore_Finish_lockedSession(t *testing.T) {
	lockingRows(t, func(t *testing.T, e *engine) {
		s := e.store()
		var finishes []jobs.Finish
		for _, owner := range []string{"dead", "gone"} {
			c := manual("of "+owner, owner+"@1", owner)
			c.Lease = -time.Minute
			if got := s.Claim(t.Context(), []jobs.Claim{c})[0]; got.Status != jobs.ClaimWon {
				t.Fatal(got)
			}
			run := c.InFlight.Run
			run.Outcome = jobs.OutcomeLost
			finishes = append(finishes, jobs.Finish{Run: run, Owner: owner, Orphan: true, Keep: 1})
		}
		tx := e.lock(t, "SELECT 1 FROM lockgen_node WHERE session = 'dead'")
		ctx, cancel := context.WithTimeout(t.Context(), schedulerTime)
		defer cancel()
		errs := s.Finish(ctx, finishes)
		if !errors.Is(errs[0], jobs.ErrLocked) || errs[1] != nil {
			t.Errorf("the ends: %v", errs)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := s.Finish(t.Context(), finishes[:1])[0]; err != nil {
			t.Error(err)
		}
	})
}

// A row that cannot be left out is the answer for all, within the time of a scheduler.
func TestStore_lockedOwnSession(t *testing.T) {
	lockingRows(t, func(t *testing.T, e *engine) {
		s := e.store()
		if err := use(t, s); err != nil {
			t.Fatal(err)
		}
		e.lock(t, "SELECT 1 FROM lockgen_node WHERE session = 's'")
		ctx, cancel := context.WithTimeout(t.Context(), schedulerTime)
		defer cancel()
		if c := s.Claim(ctx, []jobs.Claim{manual("j", "j@1", "s")})[0]; !errors.Is(c.Err, jobs.ErrLocked) {
			t.Errorf("a claim: %v", c.Err)
		}
		if e.name != "mariadb" { // where a statement would go on at the server
			return
		}
		_, err := s.Heartbeat(t.Context(), jobs.Heartbeat{Session: "s", Lease: time.Minute})
		if !errors.Is(err, jobs.ErrLocked) {
			t.Errorf("a sign of life: %v", err)
		}
	})
}

// A call of the application that has waited for a row in vain says so.
func TestStore_Put_lockedRow(t *testing.T) {
	lockingRows(t, func(t *testing.T, e *engine) {
		s, tx := e.store(), begin(t, e)
		defer tx.Rollback()
		if err := s.PutTx(t.Context(), tx, letter("x")); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), letter("x")); !errors.Is(err, jobs.ErrLocked) {
			t.Errorf("the error is %v", err)
		}
	})
}

// A job whose row is locked has records that a skipped tick or run might join.
func TestStore_lockedJobWithSkippedTicks(t *testing.T) {
	lockingRows(t, func(t *testing.T, e *engine) {
		w := &worker{T: t, s: e.store()}
		w.register()
		w.skip("late")
		run := w.begin()
		run.Outcome, run.Reason = jobs.OutcomeSkipped, "held"
		v, err := w.s.Look(t.Context(), []string{"j"})
		if err != nil {
			t.Fatal(err)
		}
		tx := e.lock(t, "SELECT 1 FROM lockgen_job WHERE name = 'j'")
		ctx, cancel := context.WithTimeout(t.Context(), schedulerTime)
		defer cancel()
		finish := func() error { return w.s.Finish(ctx, []jobs.Finish{{Run: run, Owner: "s", Keep: 20}})[0] }
		if err := finish(); !errors.Is(err, jobs.ErrLocked) {
			t.Errorf("the end of a run that was skipped: %v, want ErrLocked", err)
		}
		at := v.Jobs[0].Cursor
		if err := w.s.Claim(ctx, []jobs.Claim{{
			Job: "j", Prev: at, Tick: at.Add(time.Microsecond), Due: v.Now, Keep: 20, Missed: 1,
			Skipped: &jobs.Run{ID: "j@x", Job: "j", Outcome: jobs.OutcomeSkipped, Reason: "late"},
		}})[0].Err; !errors.Is(err, jobs.ErrLocked) {
			t.Errorf("a claim that skips a tick: %v, want ErrLocked", err)
		}
		if err := errors.Join(tx.Rollback(), finish()); err != nil {
			t.Errorf("when it is free: %v", err)
		}
	})
}
