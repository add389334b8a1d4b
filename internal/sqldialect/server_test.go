package sqldialect

import (
	"errors"
	"strings"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestServer_Judge(t *testing.T) {
	postgres := func(version string, number int) Server {
		return Server{Dialect: Postgres, Version: version, Number: number}
	}
	mysql := func(set ...string) Server {
		all := map[string]string{"version": set[0]}
		for _, pair := range set[1:] {
			name, value, _ := strings.Cut(pair, "=")
			all[name] = value
		}
		return mysqlServer(all)
	}
	for name, c := range map[string]struct {
		server Server
		wants  string // "": it will do
	}{
		"CockroachDB":   {postgres("CockroachDB CCL v23.1", 130000), "CockroachDB"},
		"YugabyteDB":    {postgres("PostgreSQL 11.2-YB-2.19", 110002), "YB"},
		"PostgreSQL 11": {postgres("PostgreSQL 11.9", 110009), "12 or later"},
		"PostgreSQL 12": {postgres("PostgreSQL 12.1", 120001), ""},
		"MySQL 5.7":     {mysql("5.7.44-log"), "8.0"},
		"MySQL 8":       {mysql("8.4.0", "log_bin=ON", "binlog_format=ROW"), ""},
		"MariaDB 10.5":  {mysql("10.5.8-MariaDB"), "10.6"},
		"MariaDB":       {mysql("10.11.6-MariaDB-log", "read_only=OFF"), ""},
		"TiDB":          {mysql("8.0.11-TiDB-v7.5.0"), "TiDB"},
		"TiDB, hidden":  {mysql("8.0.36", "version_comment=TiDB Server"), "TiDB"},
		"MySQL, dirty":  {mysql("8.4.0", "transaction_isolation=READ-UNCOMMITTED"), "READ UNCOMMITTED"},
		"MariaDB, too":  {mysql("10.11.6-MariaDB", "tx_isolation=READ-UNCOMMITTED"), "READ UNCOMMITTED"},
		"SQLite, too":   {Server{Dialect: SQLite, Version: "3.45.0", Isolation: dirtyReads}, "read_uncommitted"},
		"SQLite 3.34":   {Server{Dialect: SQLite, Version: "3.34.1"}, "3.35"},
		"SQLite":        {Server{Dialect: SQLite, Version: "3.45.0"}, ""},
	} {
		err := c.server.Judge()
		if c.wants == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.wants != "" && (err == nil || !strings.Contains(err.Error(), c.wants) || !errors.Is(err, lockrt.ErrOptions)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	replica := postgres("PostgreSQL 15.1", 150001)
	replica.ReadOnly = true
	for _, s := range []Server{replica, mysql("8.0.36", "read_only=ON")} {
		if err := s.Judge(); !errors.Is(err, ErrReadOnly) {
			t.Errorf("a replica of %s: %v", s.Dialect, err)
		}
	}
	statements := mysql("8.0.36", "log_bin=ON", "binlog_format=STATEMENT", "tx_isolation=READ-COMMITTED")
	if !statements.StatementLog || statements.Isolation != "read committed" {
		t.Errorf("%+v", statements)
	}
}

func TestTables_Help(t *testing.T) {
	for _, c := range []struct {
		dialect   Dialect
		err, want string
	}{
		{MySQL, "Error 1461 (42000): Can't create more than max_prepared_stmt_count statements", "interpolateParams=true"},
		{MySQL, "Error 1290 (HY000): The MySQL server is running with the --read-only option", "need the primary"},
		{SQLite, "database is locked (5) (SQLITE_BUSY)", "another connection or process holds the write lock"},
		{SQLite, "attempt to write a readonly database (8)", "the file, its folder and the pool"},
	} {
		err := Tables{Dialect: c.dialect, Of: "lock"}.Help(errors.New(c.err))
		if !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the error is %q, want %q in it", err, c.want)
		}
	}
}

func TestServer_Judge_noVersion(t *testing.T) {
	if err := (Server{Dialect: MySQL}).Judge(); err == nil || !strings.Contains(err.Error(), "sql_select_limit") {
		t.Errorf("the error is %v", err)
	}
}
