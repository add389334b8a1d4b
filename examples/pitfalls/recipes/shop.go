package recipes

import (
	"context"
	"database/sql"

	lockrt "github.com/lockgen/lockgen/runtime"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/stockdb"
)

// shop sells the last item, in a database of its own.
type shop struct {
	locks *lockrt.Locker
	item  string
	db    *sql.DB
	// charge and notify are calls to other services: they take their time.
	charge, notify func(context.Context) error
}

// remaining is what anybody sees who reads now.
func (s *shop) remaining(ctx context.Context) (n int, err error) {
	err = s.db.QueryRowContext(ctx, stockdb.Remaining).Scan(&n)
	return n, err
}

// take writes an order, and what is left after it.
func take(ctx context.Context, tx *sql.Tx, buyer string, remaining int) error {
	if _, err := tx.ExecContext(ctx, stockdb.Order, buyer); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, stockdb.SetRemaining, remaining)
	return err
}

// sold counts the orders.
func sold(ctx context.Context, db *sql.DB) (n int, err error) {
	err = db.QueryRowContext(ctx, stockdb.Sold).Scan(&n)
	return n, err
}

// step is a call to another service that waits for the scenario.
type step struct{ reached, resume chan struct{} }

func newStep() step { return step{make(chan struct{}), make(chan struct{})} }

func (s step) call(ctx context.Context) error {
	close(s.reached)
	select {
	case <-s.resume:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s step) await(ctx context.Context) error {
	select {
	case <-s.reached:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// passes is a call that is answered at once.
func passes(context.Context) error { return nil }
