package recipes

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// shop sells the last item, in a database of its own.
type shop struct {
	locks *lockrt.Locker
	item  string
	db    *sql.DB
	// charge and notify are calls to other services: they take their time.
	charge, notify func(context.Context) error
}

// openShop returns a database with one item in it.
func openShop(ctx context.Context) (db *sql.DB, remove func() error, err error) {
	dir, err := os.MkdirTemp("", "pitfalls-")
	if err != nil {
		return nil, nil, err
	}
	file := "file:" + filepath.Join(dir, "shop.db") +
		"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(30000)"
	db, err = sql.Open("sqlite", file)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	remove = func() error { return errors.Join(db.Close(), os.RemoveAll(dir)) }
	for _, statement := range []string{
		"CREATE TABLE stock (remaining integer)",
		"INSERT INTO stock VALUES (1)",
		"CREATE TABLE orders (buyer text)",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, nil, errors.Join(err, remove())
		}
	}
	return db, remove, nil
}

// remaining is what anybody sees who reads now.
func (s *shop) remaining(ctx context.Context) (n int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT remaining FROM stock").Scan(&n)
	return n, err
}

// take writes an order, and what is left after it.
func take(ctx context.Context, tx *sql.Tx, buyer string, remaining int) error {
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?)", buyer); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "UPDATE stock SET remaining = ?", remaining)
	return err
}

// sold counts the orders.
func sold(ctx context.Context, db *sql.DB) (n int, err error) {
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM orders").Scan(&n)
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
