package sqlstore

import (
	"bytes"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/internal/sqldialect"
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
		MySQL:    "SELECT /*+ SET_VAR(lock_wait_timeout = 5) */ ?::bigint FROM `s`.`app_lock` WHERE a IN (?, ?) AND b = ?",
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
	tb, err := newTables(SQLite, "app")
	if err != nil {
		t.Fatal(err)
	}
	const list = "SELECT {now}, :x, {now} FROM {lock} WHERE (a, b) IN (VALUES :list)"
	for range 2 { // taken apart, and known
		text, values := tb.build(list, args{"x": 1, "list": tuples{{"p", 2}, {"q", 3}}})
		if want := `SELECT ?1, ?2, ?1 FROM "app_lock" WHERE (a, b) IN (VALUES (?3, ?4), (?5, ?6))`; text != want || len(values) != 6 {
			t.Errorf("SQLite: %s %v", text, values)
		}
	}
	for n, want := range map[int]int{0: 0, 1: 1, 2: 2, 3: 4, 5: 8, 1000: 1024} {
		if got := len(padded(make([]int, n))); got != want {
			t.Errorf("%d are padded to %d, want %d", n, got, want)
		}
	}
}

func TestJudge(t *testing.T) {
	server := func(d sqldialect.Dialect, isolation string, statements bool) sqldialect.Server {
		return sqldialect.Server{Dialect: d, Isolation: isolation, StatementLog: statements}
	}
	for name, c := range map[string]struct {
		err error
		ok  bool
	}{
		"PostgreSQL":               {judgePostgres(server(sqldialect.Postgres, "read committed", false)), true},
		"PostgreSQL, serializable": {judgePostgres(server(sqldialect.Postgres, "serializable", false)), false},
		"MySQL":                    {judgeMySQL(server(sqldialect.MySQL, "read committed", false)), true},
		"MySQL, statements":        {judgeMySQL(server(sqldialect.MySQL, "read committed", true)), false},
		"MySQL, both":              {judgeMySQL(server(sqldialect.MySQL, "repeatable read", true)), true},
	} {
		if (c.err == nil) != c.ok || !c.ok && !errors.Is(c.err, lockrt.ErrOptions) {
			t.Errorf("%s: %v", name, c.err)
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
