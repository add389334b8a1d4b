package fence

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

// Dialect is the SQL that a database speaks.
type Dialect string

const (
	// Postgres is PostgreSQL 9.5 or later.
	Postgres Dialect = "postgres"
	// MySQL is MySQL 5.7 or later, or MariaDB 10.2 or later, with InnoDB.
	MySQL Dialect = "mysql"
	// SQLite is SQLite 3.35 or later.
	SQLite Dialect = "sqlite"
)

// Detect asks the server which dialect it speaks. tx may be a *sql.DB too: detect once and keep the answer in
// [SQL].Dialect. It leaves a transaction as it was.
func Detect(ctx context.Context, tx Tx) (Dialect, error) {
	if sqldialect.IsNothing(tx) {
		return "", errNothing
	}
	found, err := sqldialect.Detect(ctx, tx)
	if err != nil {
		return "", fmt.Errorf("detect the dialect of the database: %w; fence.SQL.Dialect may say it", err)
	}
	return Dialect(found), nil
}

// statements are what one dialect and table need.
type statements struct {
	sqldialect.Dialect
	table  string // as the caller wrote it
	quoted string

	create string
	// look fails unless the table is there, as it must be, and may be read.
	look string
	// read reads the high-water mark of a resource.
	read string
	// grants are what a role needs that may not create tables; empty where the database knows no roles.
	grants string
	// mark raises the high-water mark of a resource (parameters: resource and fence, the fence twice for MySQL) and
	// locks its row also where it stays the same.
	mark string
	// locked reads the high-water mark, empty where mark returns it.
	locked string
	// prune deletes high-water marks by their age in seconds, forget that of one resource.
	prune, forget string
	// isolation is for transactions of our own: it lets a statement that waited see what was committed meanwhile.
	isolation sql.IsolationLevel
}

// In MySQL the row must be read with FOR UPDATE: a plain read would come from the transaction's snapshot, and a
// high-water mark that did not change, which is what the guard of a stale writer finds, counts as not written by this
// transaction. A text column would take "A" and "a ", by MySQL's default collation, for the same resource as "a".
var dialects = map[Dialect]statements{
	Postgres: {
		create: `CREATE TABLE IF NOT EXISTS {table} (
	resource text COLLATE "C" PRIMARY KEY,
	fence bigint NOT NULL,
	seen_at bigint NOT NULL -- seconds since 1970
)`,
		grants: `GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO the_role;{schema}`,
		forget: `DELETE FROM {table} WHERE resource = $1`,
		mark: `INSERT INTO {table} AS mark (resource, fence, seen_at)
VALUES ($1, $2, extract(epoch FROM clock_timestamp())::bigint)
ON CONFLICT (resource) DO UPDATE SET fence = greatest(mark.fence, excluded.fence), seen_at = excluded.seen_at
RETURNING fence`,
		prune:     `DELETE FROM {table} WHERE seen_at < extract(epoch FROM clock_timestamp())::bigint - $1`,
		isolation: sql.LevelReadCommitted,
	},
	MySQL: {
		create: `CREATE TABLE IF NOT EXISTS {table} (
	resource varbinary(512) PRIMARY KEY,
	fence bigint NOT NULL,
	seen_at bigint NOT NULL -- seconds since 1970
) ENGINE=InnoDB`,
		grants: `GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO 'the_user'@'its_host';`,
		forget: `DELETE FROM {table} WHERE resource = ?`,
		mark: `INSERT INTO {table} (resource, fence, seen_at) VALUES (?, ?, unix_timestamp())
ON DUPLICATE KEY UPDATE fence = greatest(fence, ?), seen_at = unix_timestamp()`,
		locked:    `SELECT fence FROM {table} WHERE resource = ? FOR UPDATE`,
		prune:     `DELETE FROM {table} WHERE seen_at < unix_timestamp() - ?`,
		isolation: sql.LevelReadCommitted,
	},
	SQLite: {
		create: `CREATE TABLE IF NOT EXISTS {table} (
	resource text PRIMARY KEY NOT NULL,
	fence integer NOT NULL,
	seen_at integer NOT NULL -- seconds since 1970
)`,
		forget: `DELETE FROM {table} WHERE resource = ?`,
		mark: `INSERT INTO {table} (resource, fence, seen_at) VALUES (?, ?, CAST(strftime('%s', 'now') AS integer))
ON CONFLICT (resource) DO UPDATE SET fence = max(fence, excluded.fence), seen_at = excluded.seen_at
RETURNING fence`,
		prune: `DELETE FROM {table} WHERE seen_at < CAST(strftime('%s', 'now') AS integer) - ?`,
	},
}

var errNothing = fmt.Errorf("%w: there is no transaction, and no database", ErrInvalid)

// statements resolves the settings, asking the server for its dialect if that is not among them.
func (s SQL) statements(ctx context.Context, tx Tx) (statements, error) {
	if sqldialect.IsNothing(tx) {
		return statements{}, errNothing
	}
	if s.Dialect == "" {
		dialect, err := Detect(ctx, tx)
		if err != nil {
			return statements{}, err
		}
		s.Dialect = dialect
	}
	return s.resolve()
}

// resolve is statements for a dialect that is known.
func (s SQL) resolve() (statements, error) {
	st, ok := dialects[s.Dialect]
	if !ok {
		return st, fmt.Errorf("%w: dialect %q; use fence.Postgres, fence.MySQL (also for MariaDB) or fence.SQLite", ErrInvalid, s.Dialect)
	}
	if s.Table == "" {
		s.Table = DefaultTable
	}
	schema, name, err := sqldialect.Dialect(s.Dialect).SplitName(s.Table, maxIdentifier)
	if err != nil {
		return st, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	quoted, usage := schema+sqldialect.Dialect(s.Dialect).Quote(name), ""
	if schema != "" {
		usage = " GRANT USAGE ON SCHEMA " + strings.TrimSuffix(schema, ".") + " TO the_role;"
	}
	st.Dialect, st.table, st.quoted = sqldialect.Dialect(s.Dialect), s.Table, quoted
	st.look = "SELECT resource, fence, seen_at FROM {table} WHERE 1 = 0"
	st.read = "SELECT fence FROM {table} WHERE resource = ?"
	if s.Dialect == Postgres {
		st.read = "SELECT fence FROM {table} WHERE resource = $1"
	}
	for _, text := range []*string{&st.create, &st.look, &st.read, &st.grants, &st.mark, &st.locked, &st.prune, &st.forget} {
		*text = strings.NewReplacer("{table}", quoted, "{schema}", usage).Replace(*text)
	}
	return st, nil
}
