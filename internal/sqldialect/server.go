package sqldialect

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"
)

// Server is what a server says of itself.
type Server struct {
	Dialect   Dialect
	Version   string // as the server writes it
	Number    int    // of PostgreSQL, such as 150008
	ReadOnly  bool
	Isolation string // of transactions by default: "read committed", "repeatable read", …
	// StatementLog says that MySQL logs statements and not rows, with which it refuses writes in READ COMMITTED.
	StatementLog bool
	// RowWait is how long a statement of MySQL waits for a row, and then acts as of the moment at which it began.
	RowWait time.Duration
	// Uncommitted says that the connection does not commit its statements by itself.
	Uncommitted bool
	// SafeUpdates says that MySQL refuses to change rows that a statement does not find by a key alone.
	SafeUpdates bool
	// Shortened says that MySQL answers with a few rows only.
	Shortened string
	// Modes are those of MySQL in sql_mode.
	Modes []string
	// Chained says that MySQL begins a transaction after each commit, or ends the connection.
	Chained string
}

// Ask asks a server what it is and how it is set up.
func (d Dialect) Ask(ctx context.Context, q Querier) (Server, error) {
	s := Server{Dialect: d}
	switch d {
	case Postgres:
		var readOnly string
		err := One(ctx, q, `SELECT version(), current_setting('server_version_num')::int,
current_setting('transaction_isolation'), current_setting('transaction_read_only')`,
			&s.Version, &s.Number, &s.Isolation, &readOnly)
		s.ReadOnly = readOnly == "on"
		return s, err
	case MySQL:
		set, err := mysqlVariables(ctx, q)
		return mysqlServer(set), err
	}
	var dirty bool
	err := One(ctx, q, "SELECT sqlite_version(), read_uncommitted FROM pragma_read_uncommitted", &s.Version, &dirty)
	if dirty {
		s.Isolation = dirtyReads
	}
	return s, err
}

// dirtyReads is an isolation in which one sees what others have not committed. PostgreSQL has it by name alone.
const dirtyReads = "read uncommitted"

// Judge refuses servers that are too old, take no writes, or only look like the dialect's.
func (s Server) Judge() error {
	switch s.Dialect {
	case Postgres:
		if strings.Contains(s.Version, "CockroachDB") || strings.Contains(s.Version, "-YB-") {
			return notPostgres(s.Version)
		}
		if s.Number < 120000 {
			return Refusal("the server is %s; PostgreSQL 12 or later is needed", s.Version)
		}
	case MySQL:
		if strings.Contains(s.Version, "TiDB") {
			return Refusal("the server is TiDB %s, which was never tested", s.Version)
		}
		if s.Version == "" {
			return Refusal("the server does not say which version it has: is sql_select_limit set, or something in between?")
		}
		if !atLeast(s.Version, 10, 6) && (strings.Contains(s.Version, "MariaDB") || !atLeast(s.Version, 8, 0)) {
			return Refusal("the server has version %s; MySQL 8.0 or MariaDB 10.6 or later is needed", s.Version)
		}
	case SQLite:
		if !atLeast(s.Version, 3, 35) {
			return Refusal("SQLite is %s; 3.35 or later is needed", s.Version)
		}
	}
	if s.Isolation == dirtyReads && s.Dialect != Postgres {
		return Refusal("the connection may read what others have not committed, and undo: decisions would rest on it; take the " +
			"isolation READ UNCOMMITTED (of SQLite: the pragma read_uncommitted) out of the URL, or out of the server's settings")
	}
	if s.Uncommitted {
		return Refusal("autocommit is off in the connection: what was answered would be undone when the connection ends; take " +
			"autocommit=0 out of the URL, or set autocommit to 1 on the server")
	}
	if s.Chained != "" {
		return Refusal("completion_type is %s in the connection, which changes what a commit does; take it out of the URL, or set "+
			"it to NO_CHAIN on the server", s.Chained)
	}
	if s.SafeUpdates {
		return Refusal("sql_safe_updates is on in the connection, with which the server refuses statements that are needed; take " +
			"it out of the URL, or set it to 0 on the server")
	}
	if s.Shortened != "" {
		return Refusal("sql_select_limit is %s in the connection: what an answer leaves out would be taken for missing; take it out "+
			"of the URL, or set it to DEFAULT on the server", s.Shortened)
	}
	if s.ReadOnly {
		return ErrReadOnly
	}
	return nil
}

// notPostgres refuses what only speaks like PostgreSQL.
func notPostgres(version string) error {
	return Refusal("the server is %s: what a statement sees there after a wait for a row is something else", version)
}

// leastRows is more than any of our statements reads.
const leastRows = 10_000_000

// maxRowWait is more than anybody keeps a row locked.
const maxRowWait = 10 * time.Minute

// mysqlServer reads a server's variables.
func mysqlServer(set map[string]string) Server {
	s := Server{
		Dialect: MySQL, Version: set["version"],
		ReadOnly: set["read_only"] == "ON" || set["super_read_only"] == "ON" || set["innodb_read_only"] == "ON" ||
			set["transaction_read_only"] == "ON" || set["tx_read_only"] == "ON",
		StatementLog: set["log_bin"] == "ON" && set["binlog_format"] == "STATEMENT",
		Isolation:    set["transaction_isolation"],
		Uncommitted:  set["autocommit"] == "OFF",
		SafeUpdates:  set["sql_safe_updates"] == "ON",
		Modes:        strings.Split(set["sql_mode"], ","),
	}
	if seconds, err := strconv.Atoi(set["innodb_lock_wait_timeout"]); err == nil {
		s.RowWait = min(time.Duration(seconds)*time.Second, maxRowWait)
	}
	if rows, err := strconv.ParseUint(set["sql_select_limit"], 10, 64); err == nil && rows < leastRows {
		s.Shortened = set["sql_select_limit"]
	}
	if kind := set["completion_type"]; kind != "NO_CHAIN" {
		s.Chained = kind
	}
	if s.Isolation == "" {
		s.Isolation = set["tx_isolation"] // MariaDB's name for it, up to 11.1
	}
	s.Isolation = strings.ToLower(strings.ReplaceAll(s.Isolation, "-", " "))
	if comment := set["version_comment"]; strings.Contains(comment, "TiDB") {
		s.Version += " (" + comment + ")"
	}
	return s
}

// mysqlVariables are what a server says of itself, by name.
func mysqlVariables(ctx context.Context, q Querier) (map[string]string, error) {
	rows, err := q.QueryContext(ctx, `SHOW VARIABLES WHERE Variable_name IN ('version', 'version_comment', 'read_only',
'super_read_only', 'innodb_read_only', 'log_bin', 'binlog_format', 'transaction_isolation', 'tx_isolation',
'transaction_read_only', 'tx_read_only', 'autocommit', 'completion_type', 'innodb_lock_wait_timeout',
'sql_safe_updates', 'sql_select_limit', 'sql_mode')`)
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
