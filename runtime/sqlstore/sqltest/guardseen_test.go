package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// Whoever asks is told who keeps a lock by a guarded transaction past the end of the lease. Of locks that nobody guards
// nothing is said.
func TestGuard_isToldOfPastTheLease(t *testing.T) {
	for name, o := range map[string]lockrt.Options{
		"write": {TTL: time.Second, NoRenew: true},
		"read":  {TTL: time.Second, NoRenew: true, Mode: lockrt.Read},
	} {
		t.Run(name, func(t *testing.T) {
			e := postgres(t)
			a, b := e.locker(t, "a"), e.locker(t, "b")
			if _, err := a.Acquire(t.Context(), "left", o); err != nil {
				t.Fatal(err)
			}
			lease, tx := e.guarded(t, a, o)
			other := e.begin(t, e.level)
			if err := sqlstore.Guard(t.Context(), other, lease); err != nil && !errors.Is(err, lockrt.ErrLost) {
				t.Fatal(err)
			}
			stop, stopOther := staysActive(t, tx), staysActive(t, other)
			<-lease.Done()
			told := func(err error) bool {
				return errors.Is(err, lockrt.ErrNotHeld) && strings.Contains(err.Error(), "the lease of a is over, and a transaction keeps") &&
					strings.Contains(err.Error(), "pg_stat_activity")
			}
			testsync.Eventually(t, "Holder says who", func() bool {
				_, err := b.Holder(t.Context(), "k")
				return told(err)
			})
			testsync.Eventually(t, "a try says who", func() bool {
				_, err := b.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long})
				busy := new(lockrt.BusyError)
				return errors.As(err, &busy) && busy.Holder == "a" && busy.Remaining == 0 && strings.Contains(err.Error(), "held by a")
			})
			if err := b.Break(t.Context(), "k", "test"); !told(err) {
				t.Errorf("Break: %v, want it to say that a transaction keeps the lock", err)
			}
			testsync.Eventually(t, "nothing is said of a lock that nobody guards", func() bool {
				_, err := b.Holder(t.Context(), "left")
				return errors.Is(err, lockrt.ErrNotHeld) && !strings.Contains(err.Error(), "transaction")
			})
			stop()
			stopOther()
			if err := errors.Join(tx.Commit(), other.Rollback()); err != nil {
				t.Error(err)
			}
			testsync.Eventually(t, "nothing is said after the commit", func() bool {
				_, err := b.Holder(t.Context(), "k")
				return errors.Is(err, lockrt.ErrNotHeld) && !strings.Contains(err.Error(), "transaction")
			})
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
