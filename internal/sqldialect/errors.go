package sqldialect

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

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
	for text, code := range map[string]int{
		"database is locked": 5, "database table is locked": 6, "readonly database": 8, "constraint failed": 19,
	} {
		if strings.Contains(err.Error(), text) {
			return code
		}
	}
	return 0
}

// Again reports whether the server has undone the transaction and asks for it to be repeated: it met another one.
func (d Dialect) Again(err error) bool {
	switch d {
	case Postgres:
		state := sqlState(err)
		return state == "40001" || state == "40P01" || state == "55P03"
	case MySQL:
		n := mysqlNumber(err)
		return n == 1213 || n == 1205 || n == 1020 || n == 3101 // the last where nodes of a group meet
	}
	code := sqliteCode(err)
	return code == 5 || code == 6
}

// writer is who keeps all others from writing to a file of SQLite.
const writer = "the write lock of the SQLite file; look for one that is stopped, or hangs, in a transaction"

// WhySilent is what keeps a database as a rule that does not answer although it is there, "" if nothing is known of it.
func (d Dialect) WhySilent() string {
	if d != SQLite {
		return ""
	}
	return "another connection or process may hold " + writer
}

// IsLockTimeout reports whether a statement has waited for a row for as long as it may.
func (d Dialect) IsLockTimeout(err error) bool {
	if err == nil {
		return false
	}
	return d == Postgres && sqlState(err) == "55P03" || d == MySQL && mysqlNumber(err) == 1205
}

// IsDuplicate reports whether a row with the same key is there.
func (d Dialect) IsDuplicate(err error) bool {
	switch d {
	case Postgres:
		return sqlState(err) == "23505"
	case MySQL:
		return mysqlNumber(err) == 1062
	}
	return sqliteCode(err) == 19
}

// IsReply reports whether the server itself answered, so that the statement has done nothing.
func (d Dialect) IsReply(err error) bool {
	switch d {
	case Postgres:
		state := sqlState(err)
		return state != "" && !strings.HasPrefix(state, "08") && !strings.HasPrefix(state, "57P")
	case MySQL:
		n := mysqlNumber(err)
		if n >= 2000 && n < 3000 || n >= 9000 { // of a driver in C, or of a proxy, which may have lost the server's answer
			return false
		}
		return n >= 1000 && n != 1053 && n != 1927 // ended by a shutdown, or by KILL
	}
	return !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

// Answered is IsReply where the dialect is not known.
func Answered(err error) bool {
	return Postgres.IsReply(err) || MySQL.IsReply(err) || sqliteCode(err) != 0
}

// IsForeign reports whether an error is one of another kind of database.
func (d Dialect) IsForeign(err error) bool {
	if err == nil {
		return false
	}
	return d != Postgres && sqlState(err) != "" || d != MySQL && mysqlNumber(err) != 0 || d != SQLite && sqliteCode(err) != 0
}

// IsOverloaded reports whether the server may take the statement later: it has no connection to spare, for anybody or for
// the role, or ends one.
func (d Dialect) IsOverloaded(err error) bool {
	switch d {
	case Postgres:
		state := sqlState(err)
		return strings.HasPrefix(state, "53") || strings.HasPrefix(state, "57")
	case MySQL:
		n := mysqlNumber(err)
		switch n {
		case 1226: // or a quota for the hour is used up
			return strings.Contains(err.Error(), "max_user_connections")
		case 1040, 1203, 1317, tooManyPrepared, 3024, 3032, 3168, idleForLong:
			return true
		}
	}
	return false
}

// idleForLong is the number of MySQL's error on a connection that it has ended, which nobody used for wait_timeout.
const idleForLong = 4031

// IsEnded reports whether the server has ended the connection.
func (d Dialect) IsEnded(err error) bool { return d == MySQL && mysqlNumber(err) == idleForLong }

// tooManyPrepared is the number of MySQL's error where max_prepared_stmt_count is reached.
const tooManyPrepared = 1461

// IsUnprepared reports whether the server has as many prepared statements as it keeps.
func (d Dialect) IsUnprepared(err error) bool {
	return d == MySQL && mysqlNumber(err) == tooManyPrepared
}

// IsUnknownDatabase reports whether there is no such database.
func (d Dialect) IsUnknownDatabase(err error) bool {
	return d == Postgres && sqlState(err) == "3D000" || d == MySQL && mysqlNumber(err) == 1049
}

// IsNull reports whether a column would have no value that must have one.
func (d Dialect) IsNull(err error) bool {
	switch d {
	case Postgres:
		return sqlState(err) == "23502"
	case MySQL:
		return mysqlNumber(err) == 1048
	}
	return strings.Contains(err.Error(), "NOT NULL constraint failed")
}

// IsMissingTable reports whether a table is not there.
func (d Dialect) IsMissingTable(err error) bool {
	if err == nil {
		return false
	}
	switch d {
	case Postgres:
		return sqlState(err) == "42P01"
	case MySQL:
		return mysqlNumber(err) == 1146
	}
	return strings.Contains(err.Error(), "no such table")
}

// IsMissing reports whether a table, its schema, or a column is not there.
func (d Dialect) IsMissing(err error) bool {
	if err == nil || d.IsMissingTable(err) {
		return err != nil
	}
	switch d {
	case Postgres:
		state := sqlState(err)
		return state == "3F000" || state == "42703"
	case MySQL:
		return mysqlNumber(err) == 1054
	}
	return strings.Contains(err.Error(), "no such column") || strings.Contains(err.Error(), "has no column named")
}

// IsDenied reports whether the role lacks a right.
func (d Dialect) IsDenied(err error) bool {
	switch d {
	case Postgres:
		return sqlState(err) == "42501"
	case MySQL:
		n := mysqlNumber(err)
		return n == 1142 || n == 1143 || n == 1044
	}
	return false
}

// IsReadOnly reports whether the server takes no writes, as after a failover.
func (d Dialect) IsReadOnly(err error) bool {
	switch d {
	case Postgres:
		return sqlState(err) == "25006"
	case MySQL:
		n := mysqlNumber(err)
		return n == 1290 || n == 1792 || n == 1836
	}
	return sqliteCode(err) == 8
}

// IsUnwritable reports whether the encoding of the database has no such character, as EUC_JP has no ä.
func (d Dialect) IsUnwritable(err error) bool {
	state := sqlState(err)
	return d == Postgres && (state == "22021" || state == "22P05")
}

// IsStale reports whether a connection had a statement prepared that the server does not know any more, or not like that:
// after DISCARD ALL, or after a change of a table. Nothing was done, and the driver prepares it anew.
func (d Dialect) IsStale(err error) bool {
	state := sqlState(err)
	return d == Postgres && (state == "26000" || state == "0A000")
}

// IsPooled reports whether a pooler has mixed up prepared statements.
func (d Dialect) IsPooled(err error) bool {
	state := sqlState(err)
	return d == Postgres && (state == "26000" || state == "42P05" || state == "08P01")
}
