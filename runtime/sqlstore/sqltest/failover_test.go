package sqltest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// A primary whose commits wait for a standby is killed, and the standby promoted: it knows every lease that was granted.
// A holder of before keeps its lock, nobody else gets it, and work on another lock goes on with growing fences.
func TestPostgres_promotedStandby(t *testing.T) {
	t.Parallel()
	primary, e := ownPostgres(t)
	standby := testenv.PostgresStandby(t, primary)
	e.exec(t, "ALTER SYSTEM SET synchronous_standby_names = 'standby'")
	e.exec(t, "SELECT pg_reload_conf()")
	testsync.Eventually(t, "commits wait for the standby", func() bool {
		var state string
		return e.db.QueryRow("SELECT sync_state FROM pg_stat_replication").Scan(&state) == nil && state == "sync"
	})
	u, err := url.Parse(primary.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.Host = fmt.Sprint(primary.Addr(), ",", standby.Addr())
	db := openDB(t, "pgx", u.String()+"&target_session_attrs=read-write")
	open := func() *lockrt.Locker {
		locks, err := lockrt.New(sqlstore.New(db, sqlstore.Config{}), lockrt.Config{
			Namespace: t.Name(), Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = locks.Close(context.Background()) })
		return locks
	}
	holder, other := open(), open()
	held, err := holder.Acquire(t.Context(), "held", lockrt.Options{TTL: long})
	if err != nil {
		t.Fatal(err)
	}

	w := new(witness)
	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	defer workers.Wait()
	defer stop()
	for _, locks := range []*lockrt.Locker{holder, other, open()} {
		workers.Go(func() {
			for ctx.Err() == nil {
				lease, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: 2 * time.Second, Wait: time.Minute})
				if err != nil {
					continue // nobody takes writes
				}
				w.enters(t, lease)
				select {
				case <-lease.Done():
				case <-time.After(5 * time.Millisecond):
				}
				w.leaves(lease)
				_ = lease.Release(ctx)
			}
		})
	}
	goesOn := func(after string) {
		t.Helper()
		n := w.grants.Load()
		testsync.Eventually(t, "the lock is granted "+after, func() bool { return w.grants.Load() > n+10 })
	}
	goesOn("at first")
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	promoted := openDB(t, "pgx", standby.URL())
	if _, err := promoted.ExecContext(t.Context(), "SELECT pg_promote()"); err != nil {
		t.Fatal(err)
	}
	goesOn("after the promotion")
	if err := held.Check(t.Context()); err != nil {
		t.Errorf("a lease of before the promotion: %v", err)
	}
	if _, err := other.TryAcquire(t.Context(), "held", lockrt.Options{TTL: long}); !errors.Is(err, lockrt.ErrBusy) {
		t.Errorf("a lock that is held since before the promotion: %v, want ErrBusy", err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
