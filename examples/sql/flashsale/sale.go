package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// sale is one flash sale in the database. Its name keeps the rows of several
// sales apart.
//
// No unique index on the user and no "left >= 0" stands behind the code: a real
// shop has them as well, and then oversold items become failed payments. Here
// they would hide what the locks do.
type sale struct {
	name string
	db   *sql.DB
	at   database
}

var tables = []string{
	`CREATE TABLE IF NOT EXISTS flashsale_stock (
	sale varchar(40) NOT NULL PRIMARY KEY,
	remaining bigint NOT NULL
)`,
	`CREATE TABLE IF NOT EXISTS flashsale_orders (
	sale varchar(40) NOT NULL,
	user_id bigint NOT NULL,
	instance varchar(40) NOT NULL,
	fence bigint NOT NULL -- of the stock's lock, 0 for an order without a lock
)`,
}

// prepare creates the tables where they are missing, and puts the stock on sale. locks is the URL of the locks.
func (s *sale) prepare(ctx context.Context, stock int, locks string) error {
	for _, table := range tables {
		if _, err := s.db.ExecContext(ctx, table); err != nil {
			return fmt.Errorf("create the tables of the sale (%s): %w", s.at.where, err)
		}
	}
	if err := s.marks().CreateTable(ctx, s.db); err != nil {
		return err
	}
	if locks == s.at.dsn { // the locks stand beside the orders
		if err := sqlstore.CreateTables(ctx, s.db, sqlstore.Config{}); err != nil {
			return err
		}
	}
	query := s.at.bind("INSERT INTO flashsale_stock (sale, remaining) VALUES (?, ?)")
	if _, err := s.db.ExecContext(ctx, query, s.name, stock); err != nil {
		return fmt.Errorf("put %d items on sale (%s): %w", stock, s.at.where, err)
	}
	return nil
}

// marks is the table in which the database keeps the highest fences.
func (s *sale) marks() fence.SQL { return fence.SQL{Dialect: s.at.dialect} }

// The resources that fences protect are called like the keys of their locks.
func (s *sale) stockResource() string { return "stock:" + s.name }

func (s *sale) userResource(userID int64) string { return fmt.Sprintf("order:%s:%d", s.name, userID) }

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// state is what an order depends on.
type state struct {
	remaining int64
	ordered   bool // by this user
}

func (s *sale) read(ctx context.Context, q querier, userID int64) (st state, err error) {
	query := s.at.bind("SELECT remaining FROM flashsale_stock WHERE sale = ?")
	if err := q.QueryRowContext(ctx, query, s.name).Scan(&st.remaining); err != nil {
		return st, fmt.Errorf("read the stock: %w", err)
	}
	var n int
	query = s.at.bind("SELECT count(*) FROM flashsale_orders WHERE sale = ? AND user_id = ?")
	if err := q.QueryRowContext(ctx, query, s.name, userID).Scan(&n); err != nil {
		return st, fmt.Errorf("look for orders of user %d: %w", userID, err)
	}
	st.ordered = n > 0
	return st, nil
}

// order is a row of the orders.
type order struct {
	userID   int64
	instance string
	fence    lockrt.Fence
}

// write puts down the order and what is left after it, computed from what was read.
func (s *sale) write(ctx context.Context, q querier, o order, remaining int64) error {
	query := s.at.bind("INSERT INTO flashsale_orders (sale, user_id, instance, fence) VALUES (?, ?, ?, ?)")
	if _, err := q.ExecContext(ctx, query, s.name, o.userID, o.instance, int64(o.fence)); err != nil {
		return fmt.Errorf("write the order of user %d: %w", o.userID, err)
	}
	query = s.at.bind("UPDATE flashsale_stock SET remaining = ? WHERE sale = ?")
	if _, err := q.ExecContext(ctx, query, remaining, s.name); err != nil {
		return fmt.Errorf("write the stock: %w", err)
	}
	return nil
}

// inTx runs fn in a transaction that commits if fn says so and returns nil.
func (s *sale) inTx(ctx context.Context, fn func(*sql.Tx) (commit bool, err error)) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	commit, err := fn(tx)
	if err != nil || !commit {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// count is what the tables say after the sale.
type count struct {
	sold       int // orders
	oversold   int // orders beyond the stock
	duplicates int // orders beyond the first of their user
}

func (s *sale) count(ctx context.Context, stock int) (c count, err error) {
	query := s.at.bind("SELECT count(*), count(DISTINCT user_id) FROM flashsale_orders WHERE sale = ?")
	var users int
	if err := s.db.QueryRowContext(ctx, query, s.name).Scan(&c.sold, &users); err != nil {
		return c, fmt.Errorf("count the orders (%s): %w", s.at.where, err)
	}
	c.oversold, c.duplicates = max(0, c.sold-stock), c.sold-users
	return c, nil
}
