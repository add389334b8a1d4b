// Package stockdb is a database for the recipe of a shop: one item and its orders, in memory, behind database/sql. It
// stands in the place of a real one, so that this example needs no driver. What matters for the recipe is the same:
// nobody sees a transaction before its commit, and transactions write one after the other.
package stockdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
)

// The statements that the database understands.
const (
	Remaining    = "SELECT remaining FROM stock"
	Sold         = "SELECT count(*) FROM orders"
	Order        = "INSERT INTO orders VALUES (?)"
	SetRemaining = "UPDATE stock SET remaining = ?"
)

// Open makes a database with some of the item in it and no orders. It is gone when its last connection is closed.
func Open(stock int64) *sql.DB { return sql.OpenDB(newConnector(tables{remaining: stock})) }

// tables are all that there is. A value that was committed is not changed any more.
type tables struct {
	remaining int64
	orders    []string
}

// connector is the database.
type connector struct {
	committed chan tables   // holds what everybody sees; taken out to be replaced
	writer    chan struct{} // full while a transaction is under way
}

func newConnector(t tables) *connector {
	c := &connector{committed: make(chan tables, 1), writer: make(chan struct{}, 1)}
	c.committed <- t
	return c
}

func (c *connector) Connect(context.Context) (driver.Conn, error) { return &conn{db: c}, nil }
func (c *connector) Driver() driver.Driver                        { return stockDriver{} }

func (c *connector) read() tables {
	t := <-c.committed
	c.committed <- t
	return t
}

// stockDriver is there because a connector has to name one.
type stockDriver struct{}

func (stockDriver) Open(string) (driver.Conn, error) {
	return nil, errors.New("stockdb: has no names: call Open of the package")
}

// conn is one connection. database/sql lets one goroutine at a time use it.
type conn struct {
	db    *connector
	inTx  bool
	draft tables // what the transaction sees
}

func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }

// BeginTx waits for the transaction before it, as a database waits for a row that another has changed.
func (c *conn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	select {
	case c.db.writer <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.inTx, c.draft = true, c.db.read()
	return c, nil
}

func (c *conn) Commit() error {
	<-c.db.committed
	c.db.committed <- c.draft
	return c.Rollback()
}

func (c *conn) Rollback() error {
	c.inTx, c.draft = false, tables{}
	<-c.db.writer
	return nil
}

func (c *conn) Close() error { return nil }

func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return nil, fmt.Errorf("stockdb: prepared statements are not supported: %s", query)
}

// QueryContext returns one row with one number.
func (c *conn) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	t := c.draft
	if !c.inTx {
		t = c.db.read()
	}
	switch query {
	case Remaining:
		return &number{value: t.remaining}, nil
	case Sold:
		return &number{value: int64(len(t.orders))}, nil
	}
	return nil, fmt.Errorf("stockdb: no such query: %s", query)
}

// ExecContext changes what the transaction will commit.
func (c *conn) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if !c.inTx || len(args) != 1 {
		return nil, fmt.Errorf("stockdb: want a transaction and one argument for: %s", query)
	}
	switch value := args[0].Value.(type) {
	case string:
		if query == Order {
			c.draft.orders = append(slices.Clip(c.draft.orders), value)
			return driver.RowsAffected(1), nil
		}
	case int64:
		if query == SetRemaining {
			c.draft.remaining = value
			return driver.RowsAffected(1), nil
		}
	}
	return nil, fmt.Errorf("stockdb: no such statement for a %T: %s", args[0].Value, query)
}

// number is a result of one row and one column.
type number struct {
	value int64
	read  bool
}

func (*number) Columns() []string { return []string{"number"} }
func (*number) Close() error      { return nil }

func (n *number) Next(row []driver.Value) error {
	if n.read {
		return io.EOF
	}
	n.read, row[0] = true, n.value
	return nil
}
