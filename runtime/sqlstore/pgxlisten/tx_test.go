package pgxlisten_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
	"github.com/lockgen/lockgen/runtime/sqlstore"
	"github.com/lockgen/lockgen/runtime/sqlstore/pgxlisten"
)

func TestDoTx(t *testing.T) {
	server, _ := postgres(t)
	pool, err := pgxpool.New(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	db := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { _ = db.Close() })
	quiet := slog.New(slog.DiscardHandler)
	store := sqlstore.New(db, sqlstore.Config{Listener: pgxlisten.FromPool(pool)})
	a := locker(t, store, quiet)
	b := locker(t, sqlstore.New(db, sqlstore.Config{}), quiet)
	if _, err := pool.Exec(t.Context(), "CREATE TABLE data (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)"); err != nil {
		t.Fatal(err)
	}
	insert := func(ctx context.Context, tx pgx.Tx, n int) error {
		_, err := tx.Exec(ctx, "INSERT INTO data VALUES ($1)", n)
		return err
	}
	wrote := func(t *testing.T, want int) {
		t.Helper()
		var n int
		if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM data").Scan(&n); err != nil || n != want {
			t.Errorf("%d rows, want %d (%v)", n, want, err)
		}
		lease, err := b.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: testsync.Patience})
		if err != nil {
			t.Fatalf("the lock is not free: %v", err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	do := func(t *testing.T, o lockrt.Options, fn func(ctx context.Context, tx pgx.Tx, lease *lockrt.Lease) error) error {
		return pgxlisten.DoTx(t.Context(), a, "k", o, pool, fn)
	}
	o := lockrt.Options{TTL: long}
	t.Run("past the end of the lease", func(t *testing.T) {
		err := do(t, lockrt.Options{TTL: 2 * time.Second, NoRenew: true}, func(ctx context.Context, tx pgx.Tx, _ *lockrt.Lease) error {
			<-ctx.Done()
			short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			if _, err := b.Acquire(short, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("somebody else has the lock before the commit: %v", err)
			}
			return insert(context.WithoutCancel(ctx), tx, 1)
		})
		if err != nil {
			t.Error(err)
		}
		wrote(t, 1)
	})
	t.Run("the work fails", func(t *testing.T) {
		work := errors.New("no stock")
		err := do(t, o, func(ctx context.Context, tx pgx.Tx, _ *lockrt.Lease) error {
			return errors.Join(insert(ctx, tx, 2), work)
		})
		if !errors.Is(err, work) {
			t.Error(err)
		}
		wrote(t, 1)
	})
	t.Run("a panic", func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("it is gone")
			}
			wrote(t, 1)
		}()
		_ = do(t, o, func(ctx context.Context, tx pgx.Tx, _ *lockrt.Lease) error { panic(insert(ctx, tx, 2)) })
	})
	t.Run("the commit fails", func(t *testing.T) {
		err := do(t, o, func(ctx context.Context, tx pgx.Tx, _ *lockrt.Lease) error { return insert(ctx, tx, 1) })
		if err == nil || errors.Is(err, sqlstore.ErrUnsure) {
			t.Error(err)
		}
		wrote(t, 1)
	})
	t.Run("an error is passed over", func(t *testing.T) {
		err := do(t, o, func(ctx context.Context, tx pgx.Tx, _ *lockrt.Lease) error {
			_, _ = tx.Exec(ctx, "nonsense")
			return nil
		})
		if !errors.Is(err, pgx.ErrTxCommitRollback) || errors.Is(err, sqlstore.ErrUnsure) {
			t.Error(err)
		}
		wrote(t, 1)
	})
	t.Run("the context ends", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		err := pgxlisten.DoTx(ctx, a, "k", o, pool, func(ctx context.Context, tx pgx.Tx, _ *lockrt.Lease) error {
			defer cancel()
			return insert(ctx, tx, 2)
		})
		if !errors.Is(err, context.Canceled) || errors.Is(err, sqlstore.ErrUnsure) {
			t.Error(err)
		}
		wrote(t, 1)
	})
	t.Run("the work ends it itself", func(t *testing.T) {
		err := do(t, o, func(ctx context.Context, tx pgx.Tx, _ *lockrt.Lease) error { return tx.Rollback(ctx) })
		if !errors.Is(err, pgx.ErrTxClosed) || !errors.Is(err, sqlstore.ErrUnsure) { // as sqlstore.DoTx says
			t.Error(err)
		}
		wrote(t, 1)
	})
	t.Run("the connection breaks", func(t *testing.T) {
		err := do(t, o, func(ctx context.Context, tx pgx.Tx, _ *lockrt.Lease) error {
			return errors.Join(insert(ctx, tx, 2), tx.Conn().PgConn().Conn().Close())
		})
		if !errors.Is(err, sqlstore.ErrUnsure) {
			t.Errorf("%v, want ErrUnsure", err)
		}
		wrote(t, 1)
	})
	t.Run("the locks are elsewhere", func(t *testing.T) {
		elsewhere := locker(t, memstore.New(), quiet)
		err := pgxlisten.DoTx(t.Context(), elsewhere, "k", o, pool, func(context.Context, pgx.Tx, *lockrt.Lease) error { return nil })
		if !errors.Is(err, sqlstore.ErrUnsupported) {
			t.Errorf("%v, want ErrUnsupported", err)
		}
	})
}

// A nil pointer of any type is no transaction, and no pool.
func TestGuard_nothing(t *testing.T) {
	l := locker(t, memstore.New(), slog.New(slog.DiscardHandler))
	lease, err := l.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for _, none := range []pgx.Tx{nil, (*pgxpool.Tx)(nil)} {
		if err := pgxlisten.Guard(t.Context(), none, lease); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("on a nil %T: %v", none, err)
		}
	}
	for _, none := range []pgxlisten.Beginner{nil, (*pgxpool.Pool)(nil), (*pgx.Conn)(nil)} {
		err := pgxlisten.DoTx(t.Context(), l, "other", lockrt.Options{TTL: time.Minute}, none,
			func(context.Context, pgx.Tx, *lockrt.Lease) error { return nil })
		if !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("with a nil %T: %v", none, err)
		}
	}
}
