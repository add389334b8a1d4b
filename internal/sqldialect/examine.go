package sqldialect

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
)

// Examine refuses servers that are too old, take no writes, or only look like the dialect's.
func (d Dialect) Examine(ctx context.Context, q Querier) error {
	switch d {
	case Postgres:
		return examinePostgres(ctx, q)
	case MySQL:
		return examineMySQL(ctx, q)
	}
	var version string
	if err := one(ctx, q, "SELECT sqlite_version()", &version); err != nil {
		return err
	}
	if !atLeast(version, 3, 35) {
		return Refusal("SQLite is %s; 3.35 or later is needed", version)
	}
	return nil
}

func examinePostgres(ctx context.Context, q Querier) error {
	var version, readOnly string
	var number int
	err := one(ctx, q, `SELECT version(), current_setting('server_version_num')::int,
current_setting('transaction_read_only')`, &version, &number, &readOnly)
	switch {
	case err != nil:
		return err
	case strings.Contains(version, "CockroachDB") || strings.Contains(version, "-YB-"):
		return Refusal("the server is %s: what a statement sees there after a wait for a row is something else", version)
	case number < 120000:
		return Refusal("the server is %s; PostgreSQL 12 or later is needed", version)
	case readOnly == "on":
		return ErrReadOnly
	}
	return nil
}

func examineMySQL(ctx context.Context, q Querier) error {
	set, err := mysqlVariables(ctx, q)
	if err != nil {
		return err
	}
	version := set["version"]
	recent := atLeast(version, 8, 0) && !strings.Contains(version, "MariaDB") || atLeast(version, 10, 6)
	switch {
	case strings.Contains(version, "TiDB") || strings.Contains(set["version_comment"], "TiDB"):
		return Refusal("the server is TiDB %s, which was never tested", version)
	case !recent:
		return Refusal("the server has version %s; MySQL 8.0 or MariaDB 10.6 or later is needed", version)
	case set["read_only"] == "ON" || set["super_read_only"] == "ON" || set["innodb_read_only"] == "ON":
		return ErrReadOnly
	case set["log_bin"] == "ON" && set["binlog_format"] == "STATEMENT":
		return Refusal("binlog_format is STATEMENT, with which the server refuses writes in READ COMMITTED; set it to ROW")
	}
	return nil
}

// mysqlVariables are what a server says of itself, by name.
func mysqlVariables(ctx context.Context, q Querier) (map[string]string, error) {
	rows, err := q.QueryContext(ctx, `SHOW VARIABLES WHERE Variable_name IN ('version', 'version_comment', 'read_only',
'super_read_only', 'innodb_read_only', 'log_bin', 'binlog_format')`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	set := make(map[string]string)
	for rows.Next() {
		var name, value sql.NullString
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		set[strings.ToLower(name.String)] = value.String
	}
	return set, rows.Err()
}

// atLeast reads a version such as 8.0.36 or 10.11.6-MariaDB.
func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, err := strconv.Atoi(parts[0])
	b, err2 := strconv.Atoi(parts[1])
	return err == nil && err2 == nil && (a > major || a == major && b >= minor)
}
