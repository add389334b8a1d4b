package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	lockrt "github.com/lockgen/lockgen/runtime"
)

var (
	errReadOnly = errors.New("the server takes no writes; locks need the primary")
	errConflict = errors.New("the lock changed hands faster than it could be read and written")
	errTooLate  = errors.New("the server refuses the request as late, again and again: does its clock jump?")
)

// refusalError says that this server, or the way in which it is set up, cannot keep locks.
type refusalError struct{ error }

func (e refusalError) Is(target error) bool { return target == lockrt.ErrOptions }
func (e refusalError) Unwrap() error        { return e.error }

func refusal(format string, a ...any) error { return refusalError{fmt.Errorf(format, a...)} }

// sqlState returns the code of an error of PostgreSQL's drivers.
func sqlState(err error) string {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return coded.SQLState()
	}
	return ""
}

// mysqlNumber returns the number of an error of MySQL, 0 if it is none. The driver's errors have no method for it.
func mysqlNumber(err error) (n int) {
	_, rest, ok := strings.Cut(err.Error(), "Error ")
	if ok {
		_, _ = fmt.Sscanf(rest, "%d", &n)
	}
	return n
}

// sqliteCode returns the primary code of an error of SQLite, 0 if it is none, or one of a driver that does not tell.
func sqliteCode(err error) int {
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		return coded.Code() & 0xff
	}
	switch text := err.Error(); {
	case strings.Contains(text, "database is locked"):
		return 5
	case strings.Contains(text, "database table is locked"):
		return 6
	case strings.Contains(text, "readonly database"):
		return 8
	}
	return 0
}

// isReply reports whether the server itself answered, so that the statement has done nothing.
func (t *tables) isReply(err error) bool {
	switch t.name {
	case Postgres:
		return postgresReply(err)
	case MySQL:
		return mysqlReply(err)
	}
	return !isContext(err)
}

func postgresReply(err error) bool {
	state := sqlState(err)
	return state != "" && !strings.HasPrefix(state, "08") && !strings.HasPrefix(state, "57P")
}

func mysqlReply(err error) bool {
	n := mysqlNumber(err)
	return n >= 1000 && n < 2000 && n != 1053 && n != 1927 // ended by a shutdown, or by KILL
}

// again reports whether the server has done nothing and asks for the statement to be repeated.
func (t *tables) again(err error) bool {
	switch t.name {
	case Postgres:
		state := sqlState(err)
		return state == "40001" || state == "40P01" || state == "55P03"
	case MySQL:
		n := mysqlNumber(err)
		return n == 1213 || n == 1205 || n == 1020
	}
	code := sqliteCode(err)
	return code == 5 || code == 6
}

// isMissing reports whether a table, or a column, is not there.
func (t *tables) isMissing(err error) bool {
	switch t.name {
	case Postgres:
		state := sqlState(err)
		return state == "42P01" || state == "3F000" || state == "42703"
	case MySQL:
		n := mysqlNumber(err)
		return n == 1146 || n == 1054 || n == 1049
	}
	return strings.Contains(err.Error(), "no such table") || strings.Contains(err.Error(), "no such column")
}

func (t *tables) isDenied(err error) bool {
	switch t.name {
	case Postgres:
		return sqlState(err) == "42501"
	case MySQL:
		n := mysqlNumber(err)
		return n == 1142 || n == 1143 || n == 1044
	}
	return false
}

// isReadOnly reports whether the server takes no writes, as after a failover.
func (t *tables) isReadOnly(err error) bool {
	switch t.name {
	case Postgres:
		return sqlState(err) == "25006"
	case MySQL:
		n := mysqlNumber(err)
		return n == 1290 || n == 1836
	}
	return sqliteCode(err) == 8
}

// isPooled reports whether a pooler has mixed up prepared statements.
func (t *tables) isPooled(err error) bool {
	state := sqlState(err)
	return t.name == Postgres && (state == "26000" || state == "42P05" || state == "08P01")
}

// retryable reports whether another try may succeed: the server is away, starts, is full, or is another one soon.
func (t *tables) retryable(err error) bool {
	var refused refusalError
	switch {
	case errors.As(err, &refused) || t.isMissing(err) || t.isDenied(err) || t.isPooled(err):
		return false
	case t.again(err) || t.isReadOnly(err) || !t.isReply(err):
		return true
	}
	switch state := sqlState(err); {
	case strings.HasPrefix(state, "53") || strings.HasPrefix(state, "57"):
		return true
	}
	n := mysqlNumber(err)
	return n == 1040 || n == 1203 || n == 1317
}

// help adds what to do where that is known.
func (t *tables) help(err error) error {
	switch {
	case err == nil:
		return nil
	case t.isMissing(err):
		return fmt.Errorf("%w; the tables of the locks (%s) are missing or too old: call sqlstore.CreateTables, or run\n%s",
			err, t.shown, t.ddlText())
	case t.isDenied(err):
		return fmt.Errorf("%w; the role lacks a right: let somebody who may run\n%s", err, t.names.Replace(t.grants))
	case t.isPooled(err):
		return fmt.Errorf("%w; a pooler in transaction mode does not keep prepared statements: use "+
			"default_query_exec_mode=exec with pgx, binary_parameters=yes with lib/pq", err)
	}
	return err
}

func isContext(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// mayHaveRun reports whether a statement that failed may have done its work, now or later.
func (t *tables) mayHaveRun(err error) bool {
	if err == nil {
		return true
	}
	dial := new(net.OpError)
	if errors.As(err, &dial) && dial.Op == "dial" {
		return false
	}
	return !t.isReply(err)
}

// explain is a failed call's error as the caller gets it. Only where ctx, the caller's own, has ended it says so: our
// own limits look like that to the client.
func (t *tables) explain(ctx context.Context, err error) error { return explain(ctx, t.help(err)) }

func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if over := ctx.Err(); over != nil {
		if errors.Is(err, over) {
			return err
		}
		return errors.Join(over, err)
	}
	if isContext(err) {
		return timeoutError{err}
	}
	return err
}

// timeoutError hides from errors.Is that its error is one of a context.
type timeoutError struct{ err error }

func (e timeoutError) Error() string {
	if e.err == context.DeadlineExceeded || e.err == context.Canceled {
		return errNoAnswer.Error()
	}
	return errNoAnswer.Error() + ": " + e.err.Error()
}

// Is and As stand in for Unwrap.
func (e timeoutError) Is(target error) bool {
	return target == errNoAnswer ||
		target != context.DeadlineExceeded && target != context.Canceled && errors.Is(e.err, target)
}

// As implements the interface of errors.As.
func (e timeoutError) As(target any) bool { return errors.As(e.err, target) }

// lostConn reports whether a connection is of no more use.
func lostConn(err error) bool {
	var network net.Error
	return isContext(err) || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		strings.Contains(err.Error(), "bad connection") || strings.Contains(err.Error(), "conn closed")
}
