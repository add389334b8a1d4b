package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// Whoever looks sees who keeps a lock by a guarded transaction past the end of the lease, and who waits for it. Locks that
// nobody guards are not named.
func TestGuard_isSeenPastTheLease(t *testing.T) {
	for name, o := range map[string]lockrt.Options{
		"write": {TTL: time.Second, NoRenew: true},
		"read":  {TTL: time.Second, NoRenew: true, Mode: lockrt.Read},
	} {
		t.Run(name, func(t *testing.T) {
			e := postgres(t)
			ctx := context.WithoutCancel(t.Context())
			a, b := e.locker(t, "a"), e.locker(t, "b")
			if _, err := a.Acquire(ctx, "left", o); err != nil {
				t.Fatal(err)
			}
			lease, tx := e.guarded(t, a, o)
			stop := staysActive(t, tx)
			<-lease.Done()
			got := make(chan error, 1)
			go func() {
				next, err := b.Acquire(ctx, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
				if err == nil {
					err = next.Release(ctx)
				}
				got <- err
			}()
			testsync.Eventually(t, "the holder and the waiter are seen", func() bool {
				info, err := b.Holder(ctx, "k")
				return err == nil && info.Node == "a" && info.Fence == lease.Fence() && len(info.Waiters) == 1 && info.Waiters[0].Node == "b"
			})
			testsync.Eventually(t, "the one lock is listed that a transaction keeps", func() bool {
				all, err := b.List(ctx, "")
				return err == nil && len(all) == 1 && all[0].Key == "k" && len(all[0].Waiters) == 1
			})
			testsync.Eventually(t, "a try says who", func() bool {
				_, err := b.TryAcquire(ctx, "k", lockrt.Options{TTL: long})
				busy := new(lockrt.BusyError)
				return errors.As(err, &busy) && busy.Holder == "a" && busy.Remaining == 0 && strings.Contains(err.Error(), "held by a")
			})
			if err := b.Break(ctx, "k", "test"); err == nil || errors.Is(err, lockrt.ErrNotHeld) ||
				!strings.Contains(err.Error(), "a transaction keeps its row locked") || !strings.Contains(err.Error(), "pg_stat_activity") {
				t.Errorf("Break: %v, want it to say which transaction keeps the lock", err)
			}
			if _, err := b.Holder(ctx, "left"); !errors.Is(err, lockrt.ErrNotHeld) {
				t.Errorf("Holder of a lock that nobody guards: %v", err)
			}
			stop()
			if err := tx.Commit(); err != nil {
				t.Error(err)
			}
			if err := <-got; err != nil {
				t.Error(err)
			}
			if _, err := b.Holder(ctx, "k"); !errors.Is(err, lockrt.ErrNotHeld) {
				t.Errorf("Holder after the commit: %v", err)
			}
		})
	}
}

// staysActive keeps the server from ending an idle transaction, until stop is called.
func staysActive(t *testing.T, tx *sql.Tx) (stop func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				_, _ = tx.Exec("SELECT 1")
			}
		}
	}()
	stop = sync.OnceFunc(func() {
		close(over)
		<-ended
	})
	t.Cleanup(stop)
	return stop
}

// readOnly begins transactions that take no writes.
type readOnly struct{ db *sql.DB }

func (r readOnly) BeginTx(ctx context.Context, _ *sql.TxOptions) (*sql.Tx, error) {
	return r.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
}

func TestGuard_readOnly(t *testing.T) {
	e := postgres(t)
	a := e.locker(t, "a")
	for _, mode := range []lockrt.Mode{lockrt.Write, lockrt.Read} {
		err := sqlstore.DoTx(t.Context(), a, "k", lockrt.Options{TTL: long, Mode: mode}, readOnly{e.db},
			func(context.Context, *sql.Tx, *lockrt.Lease) error { return nil })
		if !errors.Is(err, sqlstore.ErrUnsupported) || !strings.Contains(err.Error(), "without ReadOnly") ||
			strings.Contains(err.Error(), "primary") {
			t.Errorf("a read-only transaction with a lease of mode %s: %v", mode, err)
		}
	}
}

// guardedPast returns when the lease on a key is over and a transaction keeps its lock, until the test ends.
func (e *engine) guardedPast(t *testing.T, l *lockrt.Locker, key string) {
	t.Helper()
	lease, err := l.Acquire(t.Context(), key, lockrt.Options{TTL: 2 * time.Second, NoRenew: true})
	if err != nil {
		t.Fatal(err)
	}
	tx := e.begin(t, e.level)
	if err := sqlstore.Guard(t.Context(), tx, lease); err != nil {
		t.Fatal(err)
	}
	staysActive(t, tx)
}

// Pages of a list leave out neither locks that are held nor those that transactions keep.
func TestGuard_isListedInPages(t *testing.T) {
	e := postgres(t)
	a, b := e.locker(t, "a"), e.locker(t, "b")
	for _, key := range []string{"b", "d", "f", "g", "h"} {
		e.guardedPast(t, a, key)
	}
	for _, key := range []string{"a", "c", "e"} {
		if _, err := a.Acquire(t.Context(), key, lockrt.Options{TTL: long}); err != nil {
			t.Fatal(err)
		}
	}
	list := func(limit int) (keys []string) {
		for cursor := ""; ; {
			page, next, err := b.ListPage(t.Context(), "", cursor, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, info := range page {
				keys = append(keys, info.Key)
			}
			if cursor = next; next == "" {
				return keys
			}
		}
	}
	want := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	testsync.Eventually(t, "all leases with guards are over, and all locks are listed", func() bool {
		info, err := b.Holder(t.Context(), "h")
		return err == nil && info.Remaining < time.Millisecond && slices.Equal(list(100), want)
	})
	for limit := 1; limit <= 8; limit++ {
		if got := list(limit); !slices.Equal(got, want) {
			t.Errorf("pages of %d: %q, want %q", limit, got, want)
		}
	}
}

// Whoever looks is not in the way of those who take locks whose leases are over.
func TestGuard_lookersRefuseNobody(t *testing.T) {
	e := postgres(t)
	a, b := e.locker(t, "a"), e.locker(t, "b")
	const locks = 300
	for i := range locks {
		if _, err := a.Acquire(t.Context(), strconv.Itoa(i), lockrt.Options{TTL: time.Second, NoRenew: true}); err != nil {
			t.Fatal(err)
		}
	}
	testsync.Eventually(t, "all leases are over", func() bool {
		all, err := b.List(t.Context(), "")
		return err == nil && len(all) == 0
	})
	ctx, stop := context.WithCancel(t.Context())
	var looking sync.WaitGroup
	for range 3 {
		looking.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_, _ = b.List(ctx, "")
				_, _ = b.Holder(ctx, strconv.Itoa(i%locks))
			}
		})
	}
	for i := range locks {
		if _, err := b.TryAcquire(t.Context(), strconv.Itoa(i), lockrt.Options{TTL: long}); err != nil {
			t.Errorf("a free lock: %v", err)
		}
	}
	stop()
	looking.Wait()
}
