package sqltest

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// witness sees who holds a lock.
type witness struct {
	mu     sync.Mutex // guards what follows
	holder *lockrt.Lease
	last   lockrt.Fence

	grants atomic.Int64
}

func (w *witness) enters(t *testing.T, lease *lockrt.Lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holder != nil && w.holder.Err() == nil {
		t.Errorf("fence %d was granted while the lease with fence %d lives", lease.Fence(), w.holder.Fence())
	}
	if lease.Fence() <= w.last {
		t.Errorf("fence %d was granted after %d", lease.Fence(), w.last)
	}
	w.holder, w.last = lease, lease.Fence()
	w.grants.Add(1)
}

func (w *witness) leaves(lease *lockrt.Lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holder == lease {
		w.holder = nil
	}
}

// TestStore_server stops a server for longer than the leases last, and kills it, under Lockers that want one lock. No
// two of them have it at a time, its fences grow, and they go on when the server does.
func TestStore_server(t *testing.T) {
	t.Parallel()
	type controlled interface {
		Pause() error
		Resume() error
		Kill() error
		Restart() error
	}
	run := func(t *testing.T, server controlled, open func() *sqlstore.Store) {
		w := new(witness)
		ctx, stop := context.WithCancel(t.Context())
		var workers sync.WaitGroup
		for range 3 {
			locks, err := lockrt.New(open(), lockrt.Config{Namespace: t.Name(), Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = locks.Close(context.Background()) }()
			workers.Go(func() {
				for ctx.Err() == nil {
					lease, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: 2 * time.Second, Wait: time.Minute})
					if err != nil {
						continue // the server is away
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
		defer workers.Wait()
		defer stop()
		goesOn := func(after string) {
			t.Helper()
			n := w.grants.Load()
			testsync.Eventually(t, "the lock is granted "+after, func() bool { return w.grants.Load() > n+10 })
		}
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		goesOn("at first")
		do(server.Pause())
		time.Sleep(3 * time.Second)
		do(server.Resume())
		goesOn("after a pause")
		do(server.Kill())
		do(server.Restart())
		goesOn("after a kill")
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server, e := ownPostgres(t)
		run(t, server, func() *sqlstore.Store { return sqlstore.New(e.db, sqlstore.Config{}) })
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		server := testenv.MariaDB(t)
		e := mariaDBAt(t, server.DSN())
		run(t, server, func() *sqlstore.Store { return sqlstore.New(e.db, sqlstore.Config{}) })
	})
}
