package sqldialect

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
)

type execFunc func(ctx context.Context, query string, args ...any) (sql.Result, error)

// A nil pointer of any type is no transaction, and nor is a pool.
func TestCheckTx(t *testing.T) {
	for _, none := range []any{nil, (*sql.Tx)(nil), (*sql.Conn)(nil), (*sql.DB)(nil), execFunc(nil), new(sql.DB)} {
		if err := CheckTx(none, ""); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("%T: %v", none, err)
		}
	}
	for _, some := range []any{new(sql.Tx), new(sql.Conn), struct{ *sql.Conn }{new(sql.Conn)}} {
		if err := CheckTx(some, ""); err != nil {
			t.Errorf("%T: %v", some, err)
		}
	}
}
