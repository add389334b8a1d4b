package sqldialect

import (
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
		return n == 1213 || n == 1205 || n == 1020
	}
	code := sqliteCode(err)
	return code == 5 || code == 6
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

// IsMissing reports whether a table, or a column, is not there.
func (d Dialect) IsMissing(err error) bool {
	switch d {
	case Postgres:
		state := sqlState(err)
		return state == "42P01" || state == "3F000" || state == "42703"
	case MySQL:
		n := mysqlNumber(err)
		return n == 1146 || n == 1054 || n == 1049
	}
	return strings.Contains(err.Error(), "no such table") || strings.Contains(err.Error(), "no such column") ||
		strings.Contains(err.Error(), "has no column named")
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
		return n == 1290 || n == 1836
	}
	return sqliteCode(err) == 8
}

// IsPooled reports whether a pooler has mixed up prepared statements.
func (d Dialect) IsPooled(err error) bool {
	state := sqlState(err)
	return d == Postgres && (state == "26000" || state == "42P05" || state == "08P01")
}
