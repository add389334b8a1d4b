package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// A guard is one in a business transaction of every isolation level.
func TestGuard_isolation(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	e.exec(t, "CREATE TABLE data (n int)")
	for _, level := range []sql.IsolationLevel{
		sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable,
	} {
		at := *e
		at.level = level
		for name, test := range map[string]func(*testing.T, *engine){
			"the level is that":              guardLevel,
			"a lease runs out":               guardedPastTheLease,
			"a break":                        guardedBreak,
			"a break by force":               guardedForce,
			"a stale lease":                  guardStale,
			"a stale lease that is not told": guardNotTold,
			"a lease younger than its data":  guardYounger,
		} {
			t.Run(strings.ReplaceAll(level.String(), " ", "")+"/"+name, func(t *testing.T) { test(t, &at) })
		}
	}
}

func guardLevel(t *testing.T, e *engine) {
	var level string
	err := e.begin(t, e.level).QueryRow("SHOW transaction_isolation").Scan(&level)
	if err != nil || !strings.EqualFold(level, e.level.String()) {
		t.Errorf("the transaction is %s, %v; want %s", level, err, e.level)
	}
}

// guardYounger acquires after the first statement of the transaction, which an old snapshot does not see.
func guardYounger(t *testing.T, e *engine) {
	tx := e.begin(t, e.level)
	if _, err := tx.Exec("SELECT count(*) FROM data"); err != nil {
		t.Fatal(err)
	}
	lease, err := e.locker(t, "a").Acquire(t.Context(), "k", lockrt.Options{TTL: long})
	if err != nil {
		t.Fatal(err)
	}
	err = sqlstore.Guard(t.Context(), tx, lease)
	_ = tx.Rollback() // the lease's release would wait for it
	if e.level < sql.LevelRepeatableRead {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if !errors.Is(err, lockrt.ErrLost) {
		t.Errorf("the guard: %v, want ErrLost", err)
	}
	wants(t, err, "acquire before its first statement")
}

// guardNotTold has a lease lose its lock while its process has not heard of it yet, so that only the row knows, after a
// transaction has its snapshot. What ends a lease locks its row FOR UPDATE, which an old snapshot notices; what does not
// end it may pass there, and then the guard holds.
func guardNotTold(t *testing.T, e *engine) {
	breaks := func(force bool) func(*testing.T, *lockrt.Lease) {
		return func(t *testing.T, lease *lockrt.Lease) {
			s, _ := e.session(t, "c")
			info, err := s.(lockrt.Inspector).Inspect(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			b := lockrt.Breaking{Key: "k", ID: info.ID, Fence: info.Fence, Reason: "test", Force: force}
			if err := s.(lockrt.Breaker).Break(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
	}
	takes := func(t *testing.T) {
		if _, err := e.locker(t, "b").TryAcquire(t.Context(), "k", lockrt.Options{TTL: long}); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		change func(*testing.T, *lockrt.Lease)
		old    bool // whether an old snapshot may pass
		now    bool // whether everything else does
	}{
		"broken by force": {change: breaks(true)},
		"broken by force, and taken": {change: func(t *testing.T, lease *lockrt.Lease) {
			breaks(true)(t, lease)
			takes(t)
		}},
		"over, and taken": {change: func(t *testing.T, _ *lockrt.Lease) {
			e.exec(t, "UPDATE lockgen_lock SET until = 1, version = version + 1 WHERE name = ?", e.rowName(t, "k"))
			takes(t)
		}},
		"broken": {change: breaks(false), old: true},
		"renewed": {change: func(t *testing.T, lease *lockrt.Lease) {
			if err := lease.Extend(t.Context(), 2*long); err != nil {
				t.Fatal(err)
			}
		}, old: true, now: true},
	} {
		t.Run(name, func(t *testing.T) {
			for n := 0; !e.guardUnaware(t, fmt.Sprint("try", n), c.change, c.old, c.now); n++ {
			}
		})
	}
}

// guardUnaware reports whether it has come before the process of the lease heard of its end.
func (e *engine) guardUnaware(
	t *testing.T, try string, change func(*testing.T, *lockrt.Lease), old, now bool,
) (done bool) {
	t.Run(try, func(t *testing.T) {
		lease, err := e.locker(t, "a").Acquire(t.Context(), "k", lockrt.Options{TTL: long, NoRenew: true})
		if err != nil {
			t.Fatal(err)
		}
		before := e.begin(t, e.level)
		var n int
		if err := before.QueryRow("SELECT count(*) FROM data").Scan(&n); err != nil { // now it has its snapshot
			t.Fatal(err)
		}
		change(t, lease)
		after := e.begin(t, e.level)
		errAfter := sqlstore.Guard(t.Context(), after, lease)
		errBefore := sqlstore.Guard(t.Context(), before, lease)
		if done = lease.Err() == nil; !done {
			return
		}
		_ = after.Rollback()
		if now && errAfter != nil || !now && !errors.Is(errAfter, lockrt.ErrLost) {
			t.Errorf("in a transaction that begins now: %v", errAfter)
		}
		var said *pgconn.PgError
		snapshot := e.level >= sql.LevelRepeatableRead
		switch passes := now || snapshot && old; {
		case passes && errBefore == nil:
			e.nobodyUntilCommit(t, before.Commit, func() {
				go func() { _ = lease.Release(context.WithoutCancel(t.Context())) }()
			})
		case passes:
			t.Errorf("in a transaction of before: %v", errBefore)
		case snapshot && (!errors.As(errBefore, &said) || said.Code != "40001"):
			t.Errorf("in a snapshot of before: %v, want 40001", errBefore)
		case !snapshot && !errors.Is(errBefore, lockrt.ErrLost):
			t.Errorf("in a transaction of before: %v, want ErrLost", errBefore)
		}
	})
	return done || t.Failed()
}
