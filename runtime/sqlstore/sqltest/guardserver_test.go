package sqltest

import (
	"errors"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// TestGuard_serverKilled kills the server under a guarded transaction and starts it again with its data.
func TestGuard_serverKilled(t *testing.T) {
	t.Parallel()
	server, e := ownPostgres(t)
	e.exec(t, "CREATE TABLE data (n int)")
	for name, test := range map[string]func(*testing.T, *engine, *testenv.PostgresServer){
		"the lease goes on":  guardServerSoonBack,
		"the lease runs out": guardServerLateBack,
	} {
		t.Run(name, func(t *testing.T) { test(t, e, server) })
	}
}

// killedUnderGuard returns a lease whose guarded transaction has written, and has gone with the server.
func (e *engine) killedUnderGuard(t *testing.T, server *testenv.PostgresServer, o lockrt.Options) *lockrt.Lease {
	t.Helper()
	lease, tx := e.guarded(t, e.locker(t, "a"), o)
	commit := writes(t, tx)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := commit(); err == nil {
		t.Error("a transaction is committed on a server that was killed")
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	var n int
	testsync.Eventually(t, "the server answers", func() bool {
		return e.db.QueryRow("SELECT count(*) FROM data").Scan(&n) == nil
	})
	if n != 0 {
		t.Errorf("%d rows are written, want none", n)
	}
	return lease
}

// next takes the lock after a lease, and checks that its fence is higher.
func (e *engine) next(t *testing.T, after *lockrt.Lease) {
	t.Helper()
	lease, err := e.locker(t, "b").Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: testsync.Patience})
	if err != nil {
		t.Fatal(err)
	}
	if lease.Fence() <= after.Fence() {
		t.Errorf("the next fence is %d after %d", lease.Fence(), after.Fence())
	}
}

// The lease is one of before, and guards another transaction, until it is released.
func guardServerSoonBack(t *testing.T, e *engine, server *testenv.PostgresServer) {
	lease := e.killedUnderGuard(t, server, lockrt.Options{TTL: long})
	_, err := e.locker(t, "c").TryAcquire(t.Context(), "k", lockrt.Options{TTL: long})
	if !errors.Is(err, lockrt.ErrBusy) {
		t.Errorf("a try beside a lease that outlives the server: %v, want ErrBusy", err)
	}
	tx := e.begin(t, e.level)
	if err := sqlstore.Guard(t.Context(), tx, lease); err != nil {
		t.Fatalf("the guard of the same work, tried again: %v", err)
	}
	if err := writes(t, tx)(); err != nil {
		t.Error(err)
	}
	e.exec(t, "DELETE FROM data")
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	e.next(t, lease)
}

func guardServerLateBack(t *testing.T, e *engine, server *testenv.PostgresServer) {
	lease := e.killedUnderGuard(t, server, lockrt.Options{TTL: 2 * time.Second, NoRenew: true})
	e.next(t, lease)
}
