package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"math/bits"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

// querier is a *sql.DB, a *sql.Conn or a *sql.Tx.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// query runs a statement and has each row scanned.
func (t *tables) query(ctx context.Context, q querier, template string, args []any, scan func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, t.text(template), args...)
	if err != nil {
		return err
	}
	for err == nil && rows.Next() {
		err = scan(rows)
	}
	if err != nil {
		_ = rows.Close()
		return err
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return rows.Close()
}

func (t *tables) exec(ctx context.Context, q querier, template string, args ...any) (int64, error) {
	result, err := q.ExecContext(ctx, t.text(template), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Statements on many rows are cut, so that none is too large for a server, and so that there are few of different
// lengths: each is a statement of its own to the server, which it has to plan.
const (
	mostRows  = 512
	mostBytes = 1 << 20
)

// table is what writing needs to know.
type table struct {
	name    string
	key     []string
	columns []string // those of the key first
}

// insert adds rows, which are not there. If one is all the same, the error is a duplicate, and nothing is added.
func (t *tables) insert(ctx context.Context, q querier, of *table, rows [][]any) error {
	return t.write(ctx, q, of, rows, "")
}

// upsert writes rows, whether they are there or not: of those that are the columns.
func (t *tables) upsert(ctx context.Context, q querier, of *table, columns []string, rows [][]any) error {
	var set []string
	for _, c := range columns {
		if t.Dialect == sqldialect.MySQL {
			set = append(set, c+" = VALUES("+c+")")
		} else {
			set = append(set, c+" = excluded."+c)
		}
	}
	return t.write(ctx, q, of, rows, t.onConflict(of, strings.Join(set, ", ")))
}

func (t *tables) onConflict(of *table, set string) string {
	if t.Dialect == sqldialect.MySQL {
		return " ON DUPLICATE KEY UPDATE " + set
	}
	return " ON CONFLICT (" + join(of.key) + ") DO UPDATE SET " + set
}

func (t *tables) write(ctx context.Context, q querier, of *table, rows [][]any, suffix string) error {
	into := "INSERT INTO {" + of.name + "} (" + join(of.columns) + ") VALUES "
	for len(rows) > 0 {
		n := portion(rows)
		values := strings.TrimSuffix(strings.Repeat(placeholders(len(of.columns))+", ", n), ", ")
		var args []any
		for _, row := range rows[:n] {
			args = append(args, row...)
		}
		if _, err := t.exec(ctx, q, into+values+suffix, args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// portion is how many of the rows the next statement is about, a power of two.
func portion(rows [][]any) int {
	n, size := 0, 0
	for n < min(len(rows), mostRows) && (n == 0 || size < mostBytes) {
		for _, v := range rows[n] {
			switch v := v.(type) {
			case string:
				size += len(v)
			case []byte:
				size += len(v)
			}
		}
		n++
	}
	return 1 << (bits.Len(uint(n)) - 1)
}

// remove deletes rows by the last column of their key, those of which a condition holds; "" is for all. It returns how
// many there were. In PostgreSQL it leaves out runs that others have locked.
func (t *tables) remove(
	ctx context.Context, q querier, of *table, namespace []byte, keys []string, condition string,
) (removed int64, err error) {
	key := of.key[1]
	where := " WHERE " + of.key[0] + " = ? AND " + condition + key + " IN "
	for len(keys) > 0 && err == nil {
		n := min(len(keys), mostRows)
		statement, args := "", []any(nil)
		switch t.Dialect {
		case sqldialect.SQLite:
			statement, args = t.among("DELETE FROM {"+of.name+"}"+where, "", namespace, keys[:n])
		case sqldialect.MySQL:
			statement, args = t.rows("DELETE d FROM {"+of.name+"} AS d"+where, "", namespace, keys[:n])
		case sqldialect.Postgres:
			lock := t.forUpdate
			if of == runTable {
				lock = t.skipLocked
			}
			statement, args = t.among("SELECT "+join(of.key)+" FROM {"+of.name+"}"+where, lock, namespace, keys[:n])
			statement = "WITH l AS MATERIALIZED (" + statement + ") DELETE FROM {" + of.name + "} AS d USING l WHERE d." +
				of.key[0] + " = l." + of.key[0] + " AND d." + key + " = l." + key
		}
		var some int64
		some, err = t.exec(ctx, q, statement, args...)
		removed, keys = removed+some, keys[n:]
	}
	return removed, err
}

// selectIn reads the rows of a list of names, in portions and in the order of the list. text ends where the list begins,
// and after is what follows.
func (t *tables) selectIn(
	ctx context.Context, q querier, text string, namespace []byte, keys []string, after string, scan func(*sql.Rows) error,
) error {
	return inPortions(keys, func(some []string) error {
		statement, args := t.among(text, after, namespace, some)
		return t.query(ctx, q, statement, args, scan)
	})
}

// lockIn is selectIn for the rows with some keys of one table, which it locks in that order. after ends with the lock.
func (t *tables) lockIn(
	ctx context.Context, q querier, text string, namespace []byte, keys []string, after string, scan func(*sql.Rows) error,
) error {
	return inPortions(keys, func(some []string) error {
		statement, args := t.rows(text, after, namespace, some)
		return t.query(ctx, q, statement, args, scan)
	})
}

func inPortions(keys []string, f func([]string) error) error {
	for some := range slices.Chunk(keys, mostRows) {
		if err := f(some); err != nil {
			return err
		}
	}
	return nil
}

// among makes a statement that ends with "IN " one for a list of names.
//
// In PostgreSQL each name is looked up by itself. A planner whose statistics are some seconds old takes the thousands of
// rows of a namespace for a few, and then reads them all for any list.
func (t *tables) among(text, after string, namespace []byte, keys []string) (statement string, args []any) {
	if t.Dialect != sqldialect.Postgres {
		list := padded(keys)
		return text + placeholders(len(list)) + after, withKeys(namespace, list)
	}
	return t.perKey(strings.TrimSuffix(text, "IN ") + "= wanted.it" + after),
		[]any{sqldialect.Array(sqldialect.Hex(keys)), namespace}
}

// rows is among for the rows with some keys of one table that are locked or deleted. MySQL looks each up by itself. For a
// list it may read all rows instead and wait for each that somebody has locked, so that a transaction of a caller that
// stays open would hold up everybody.
func (t *tables) rows(text, after string, namespace []byte, keys []string) (statement string, args []any) {
	if t.Dialect != sqldialect.MySQL {
		return t.among(text, after, namespace, keys)
	}
	// MySQL locks no JSON_TABLE (3569), but what a query makes of it.
	const wanted = `(SELECT it FROM JSON_TABLE(?, '$[*]' COLUMNS (it varchar(2048) PATH '$')) AS list) AS wanted STRAIGHT_JOIN `
	text = strings.Replace(text, " FROM ", " FROM "+wanted, 1)
	text = strings.Replace(text, " WHERE ", " FORCE INDEX (PRIMARY) WHERE ", 1)
	return strings.TrimSuffix(text, "IN ") + "= UNHEX(wanted.it)" + after, []any{hexList(keys), namespace}
}

// hexList is a JSON array of texts.
func hexList(keys []string) string {
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = hex.EncodeToString([]byte(key))
	}
	return encode(texts)
}

// perKey has PostgreSQL run a query for each wanted.it, the elements of an array that is the first parameter.
func (t *tables) perKey(query string) string {
	return "SELECT found.* FROM unnest(?::bytea[]) AS wanted(it) CROSS JOIN LATERAL (" + query + " OFFSET 0) AS found"
}

// padded repeats the last element until there are 2^n.
func padded[E any](list []E) []E {
	for n := len(list); n > 0 && n&(n-1) != 0; n++ {
		list = append(list[:len(list):len(list)], list[len(list)-1])
	}
	return list
}

func withKeys(namespace []byte, keys []string) []any {
	args := make([]any, 0, len(keys)+1)
	args = append(args, namespace)
	for _, k := range keys {
		args = append(args, []byte(k))
	}
	return args
}

func join(columns []string) string { return strings.Join(columns, ", ") }
