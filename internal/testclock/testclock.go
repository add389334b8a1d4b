// Package testclock lets tests set back the clock of a real database: the clock that its statements read.
package testclock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// Clock is how a database's clock is set.
type Clock struct {
	set func(back time.Duration) error
}

// SetBack has the clock show d less than it is.
func (c *Clock) SetBack(t testing.TB, d time.Duration) {
	t.Helper()
	if err := c.set(d); err != nil {
		t.Fatalf("set the clock back by %s: %v", d, err)
	}
}

// Postgres puts another clock_timestamp before that of the system, for all connections that are made from now on to
// the database.
func Postgres(t testing.TB, db *sql.DB, database string) *Clock {
	t.Helper()
	for _, text := range []string{
		"CREATE SCHEMA shifted",
		"CREATE TABLE shifted.clock (back interval NOT NULL)",
		"INSERT INTO shifted.clock VALUES ('0')",
		`CREATE FUNCTION shifted.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
'SELECT pg_catalog.clock_timestamp() - (SELECT back FROM shifted.clock)'`,
		"ALTER DATABASE " + database + " SET search_path = public, shifted, pg_catalog",
	} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return &Clock{func(back time.Duration) error {
		text := fmt.Sprintf("UPDATE shifted.clock SET back = '%d milliseconds'", back.Milliseconds())
		_, err := db.ExecContext(context.Background(), text)
		return err
	}}
}

// MySQL returns connections on which each statement reads the clock that is set. Others see that of the server.
func MySQL(to driver.Driver, dsn string) (driver.Connector, *Clock) {
	c := &connector{to: to, dsn: dsn}
	return c, &Clock{func(back time.Duration) error {
		c.back.Store(int64(back))
		return nil
	}}
}

type connector struct {
	to   driver.Driver
	dsn  string
	back atomic.Int64
}

func (c *connector) Driver() driver.Driver { return c.to }

func (c *connector) Connect(context.Context) (driver.Conn, error) {
	to, err := c.to.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return &conn{to, c}, nil
}

type conn struct {
	driver.Conn
	c *connector
}

// shift sets what the next statement takes for the time. SYSDATE is the server's time in any case.
func (c *conn) shift(ctx context.Context) error {
	text := fmt.Sprintf("SET timestamp = UNIX_TIMESTAMP(SYSDATE(6)) - %f", time.Duration(c.c.back.Load()).Seconds())
	_, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, text, nil)
	return err
}

// BeginTx implements driver.ConnBeginTx.
func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.shift(ctx); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, text, args)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.shift(ctx); err != nil {
		return nil, err
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, text, args)
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	return c.Conn.(driver.NamedValueChecker).CheckNamedValue(v)
}
