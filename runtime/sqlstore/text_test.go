package sqlstore

import (
	"bytes"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestRowName_hashedOnesAreNobodyElses(t *testing.T) {
	short := rowName("lock", strings.Repeat("k", plainName-5))
	if len(short) != plainName || !bytes.HasPrefix(short, []byte("lock\x00kkk")) {
		t.Errorf("%d bytes: %q", len(short), short)
	}
	one, two := rowName("lock", strings.Repeat("k", 4000)), rowName("lock", strings.Repeat("k", 4001))
	if len(one) <= plainName || len(one) > 513 || bytes.Equal(one, two) {
		t.Errorf("names of %d and %d bytes", len(one), len(two))
	}
	for _, key := range []string{"", "a", "k\xff", strings.Repeat("k", 400), strings.Repeat("k", 600)} {
		from, below := nameRange("lock", key)
		for _, end := range []string{"", "a", "\xff\xff", strings.Repeat("z", 700)} {
			if name := rowName("lock", key+end); bytes.Compare(name, from) < 0 || bytes.Compare(name, below) >= 0 {
				t.Errorf("the name of %.20q… is not in the range of its prefix", key+end)
			}
		}
	}
}

func TestQueue_text(t *testing.T) {
	queue := []place{
		{id: escaped("id 1\n"), ttl: 5, live: 7, session: "s", node: "a node\nwith lines"}, {id: "2", session: "t"},
	}
	again, err := parseQueue(queueText(queue))
	if err != nil || !slices.Equal(again, queue) || plain(again[0].id) != "id 1\n" {
		t.Errorf("%+v, %v", again, err)
	}
	if !strings.Contains(queueText(queue), mark("2")) || strings.Contains(queueText(queue), mark("id")) {
		t.Errorf("marks are not found in %q", queueText(queue))
	}
	for _, text := range []string{"x", "\na b", "\na b c d e", "\na 1 c d e", "\na 1 2 d %zz", "\n"} {
		if queue, err := parseQueue(text); err == nil {
			t.Errorf("%q is the queue %+v", text, queue)
		}
	}
}

func TestShown(t *testing.T) {
	for text, want := range map[string]string{"": "", "a\nb\x00c": "a b c", "\xffé": "�é", "ééé": "éé", "abcdefg": "abcde"} {
		if got := shown(text, 5); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestTables_build(t *testing.T) {
	for dialect, want := range map[Dialect]string{
		Postgres: `SELECT $1::bigint FROM "s"."app_lock" WHERE a IN ($2, $3) AND b = $1`,
		MySQL:    "SELECT ?::bigint FROM `s`.`app_lock` WHERE a IN (?, ?) AND b = ?",
	} {
		tb, err := newTables(dialect, "s.app")
		if err != nil {
			t.Fatal(err)
		}
		text, values := tb.build("SELECT :x::bigint FROM {lock} WHERE a IN (:list) AND b = :x", args{"x": 1, "list": []string{"p", "q"}})
		if text != want || len(values) != strings.Count(want, "?")+strings.Count(want, "$")-strings.Count(want, "b = $1") {
			t.Errorf("%s: %s %v", dialect, text, values)
		}
	}
	for n, want := range map[int]int{0: 0, 1: 1, 2: 2, 3: 4, 5: 8, 1000: 1024} {
		if got := len(padded(make([]int, n))); got != want {
			t.Errorf("%d are padded to %d, want %d", n, got, want)
		}
	}
}

func TestExamine_refusals(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		wants string
	}{
		"CockroachDB":   {postgresServer{"CockroachDB CCL v23.1", 130000, "serializable", "off"}.judge(), "CockroachDB"},
		"YugabyteDB":    {postgresServer{"PostgreSQL 11.2-YB-2.19", 110002, "read committed", "off"}.judge(), "YB"},
		"PostgreSQL 11": {postgresServer{"PostgreSQL 11.9", 110009, "read committed", "off"}.judge(), "12 or later"},
		"MySQL 5.7":     {mysqlServer{"version": "5.7.44-log"}.judge(), "8.0"},
		"MariaDB 10.5":  {mysqlServer{"version": "10.5.8-MariaDB"}.judge(), "10.6"},
		"TiDB":          {mysqlServer{"version": "8.0.11-TiDB-v7.5.0"}.judge(), "TiDB"},
		"statement based log": {mysqlServer{
			"version": "8.0.36", "log_bin": "ON", "binlog_format": "STATEMENT", "transaction_isolation": "READ-COMMITTED",
		}.judge(), "ROW"},
		"SQLite 3.34": {judgeSQLite("3.34.1"), "3.35"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.wants) || !errors.Is(c.err, lockrt.ErrOptions) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	for name, err := range map[string]error{
		"PostgreSQL": postgresServer{"PostgreSQL 12.1", 120001, "read committed", "off"}.judge(),
		"MySQL":      mysqlServer{"version": "8.4.0", "log_bin": "ON", "binlog_format": "ROW", "transaction_isolation": "READ-COMMITTED"}.judge(),
		"MariaDB":    mysqlServer{"version": "10.11.6-MariaDB-log", "tx_isolation": "REPEATABLE-READ", "read_only": "OFF"}.judge(),
		"SQLite":     judgeSQLite("3.45.0"),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, replica := range []error{
		postgresServer{"PostgreSQL 15.1", 150001, "read committed", "on"}.judge(), mysqlServer{"version": "8.0.36", "read_only": "ON"}.judge(),
	} {
		if !errors.Is(replica, errReadOnly) {
			t.Errorf("a replica: %v", replica)
		}
	}
}

func TestConfig_refusals(t *testing.T) {
	for _, cfg := range []Config{{Liveness: 1}, {Retention: 1}, {PollMin: 1}, {PollMin: 10e6, PollMax: 5e6}, {Table: "a b"}} {
		if _, err := New(new(sql.DB), cfg).Open(lockrt.SessionConfig{}); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	if _, err := DDL(Config{Dialect: "oracle"}); !errors.Is(err, lockrt.ErrOptions) {
		t.Errorf("the DDL of another dialect: %v", err)
	}
}

// No driver is linked into this test.
func TestOpen_namesTheMissingDriver(t *testing.T) {
	for url, driver := range map[string]string{
		"postgres://a:secret@h/d": "jackc/pgx", "postgresql://h/d": "lib/pq", "mysql://a:secret@h/d": "go-sql-driver", "sqlite:f": "modernc.org/sqlite",
	} {
		_, err := lockrt.Open(t.Context(), url, lockrt.Config{})
		if !errors.Is(err, lockrt.ErrOptions) || !strings.Contains(err.Error(), driver) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
