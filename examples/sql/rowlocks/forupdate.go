package rowlocks

import (
	"context"
	"database/sql"
)

// querier is a pool or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// readForUpdate reads the stock and keeps others from doing so until the transaction ends.
//
// Called with a pool it is the first mistake: the statement is a transaction of its own, and the lock on the row ends with
// it. Two callers read 1 and both sell it.
//
// Called with a transaction it is right until a client stops in the middle. The second mistake is to believe that such a
// lock ends by itself: the server keeps the row locked for as long as it believes in the connection, which is for hours,
// and everybody who wants the row waits.
func readForUpdate(ctx context.Context, q querier) (left int, err error) {
	err = q.QueryRowContext(ctx, "SELECT remaining FROM stock WHERE item = 7 FOR UPDATE").Scan(&left)
	return left, err
}

func setStock(ctx context.Context, q querier, left int) error {
	_, err := q.ExecContext(ctx, "UPDATE stock SET remaining = $1 WHERE item = 7", left)
	return err
}

// getLock and releaseLock are MySQL's named locks, called with a pool. They belong to a connection, and each call may get
// another one: what is released is not what was taken, and nobody else gets the lock until that connection ends.
func getLock(ctx context.Context, q querier) (got bool, err error) {
	err = q.QueryRowContext(ctx, "SELECT GET_LOCK('stock:7', 0)").Scan(&got)
	return got, err
}

func releaseLock(ctx context.Context, q querier) (released sql.NullBool, err error) {
	err = q.QueryRowContext(ctx, "SELECT RELEASE_LOCK('stock:7')").Scan(&released)
	return released, err
}
