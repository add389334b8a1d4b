package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/examples/internal/cli/clitest"
	"github.com/lockgen/lockgen/runtime/fence"
)

var example = clitest.Command{Name: "flashsale", Run: func(args []string, stdout, stderr io.Writer) int {
	return run(context.Background(), args, stdout, stderr)
}}

func TestParseFlags(t *testing.T) {
	defaults := options{store: "memory:", instances: 3, requests: 2000, concurrency: 1000, users: 500, stock: 100}
	if o, err := parseFlags(nil, io.Discard); err != nil || o != defaults {
		t.Errorf("no flags: %+v, %v", o, err)
	}
	args := "-store redis://h:1/2 -db sqlite:a.db -instances 5 -requests 9 -concurrency 8 -users 7 -stock 6 -unsafe " +
		"-kill 4"
	o, err := parseFlags(strings.Fields(args), io.Discard)
	want := options{
		store: "redis://h:1/2", db: "sqlite:a.db", instances: 5,
		requests: 9, concurrency: 8, users: 7, stock: 6, unsafe: true, kill: 4,
	}
	if err != nil || o != want {
		t.Errorf("all flags: %+v, %v", o, err)
	}
}

func TestParseFlags_errorsSayWhatToDo(t *testing.T) {
	example.Refuses(t, map[string]string{
		"-instances 0":                  "-instances 0: want 1 to 50",
		"-instances 51":                 "-instances 51: want 1 to 50",
		"-requests -1":                  "-requests -1: want 0 to",
		"-requests many":                "-requests",
		"-concurrency 0":                "-concurrency 0: want 1 to",
		"-users 0":                      "-users 0: want 1 to",
		"-stock 0":                      "-stock 0: want 1 to",
		"-kill 5":                       "-kill needs instances that are processes: add -store redis://",
		"-store redis://h:1 -kill 0":    "-kill 0: want a number of answers",
		"-store redis://h:1 -kill 2000": "from 1 to less than -requests 2000",
		"-store redis://h:1 -kill 5 -instances 1":    "would leave nobody to sell",
		"-store etcd://h:1":                          "want memory: or redis://",
		"-store redis://":                            "want memory: or redis://",
		"-store memory:x":                            "want memory: or redis://",
		"-db oracle://h/x":                           "want sqlite:FILE, postgres://",
		"-db sqlite:":                                "want sqlite:FILE, postgres://",
		"-db mysql://u:p@h:1":                        "no host or no database",
		"-db postgres://u:p@h:1/x?sslmode=sometimes": "not a URL that the PostgreSQL client understands",
	})
}

func TestParseFlags_help(t *testing.T) {
	example.Explains(t, "-store", "-db", "-instances", "-requests", "-concurrency", "-users", "-stock", "-unsafe", "-kill")
}

// Neither the flags' own errors nor those of the clients may show a password.
func TestRun_neverPrintsThePassword(t *testing.T) {
	example.Hides(t, "s3cret",
		"-store redis://:s3cret@127.0.0.1:1/0",
		"-store redis://:s3cret/x@127.0.0.1:6379/0",
		"-store redis://:s3cret%zz@127.0.0.1:6379/0",
		"-store redis+cluster://:s3cret@127.0.0.1:1,127.0.0.1:2",
		"-db postgres://u:s3cret@127.0.0.1:1/x",
		"-db postgres://u:s3cret/x@127.0.0.1:1/x",
		"-db postgres://u:s3cret@127.0.0.1:port/x",
		"-db mysql://u:s3cret@127.0.0.1:1/x",
		"-db mysql://u:s3cret%zz@127.0.0.1:1/x",
		"-db oracle://u:s3cret@127.0.0.1:1/x",
	)
}

func TestParseDatabase(t *testing.T) {
	for text, want := range map[string]database{
		"sqlite:/tmp/a b.db":            {driver: "sqlite", dialect: fence.SQLite, where: "SQLite in /tmp/a b.db"},
		"postgres://u:p@h:1/shop":       {driver: "pgx", dialect: fence.Postgres, where: "postgres at h:1, database shop"},
		"postgresql://u@h/shop":         {driver: "pgx", dialect: fence.Postgres, where: "postgresql at h, database shop"},
		"mysql://u:p%2F%40@h:3306/shop": {driver: "mysql", dialect: fence.MySQL, where: "mysql at h:3306, database shop"},
	} {
		got, err := parseDatabase(text)
		if got.dsn == "" {
			t.Errorf("%s: no address", text)
		}
		got.dsn = ""
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestLoad_percentile(t *testing.T) {
	l := &load{}
	if p := l.percentile(99); p != 0 {
		t.Errorf("of nothing: %s", p)
	}
	for i := range 100 {
		l.waits = append(l.waits, time.Duration(100-i)*time.Millisecond)
	}
	for p, want := range map[int]time.Duration{0: 1, 50: 50, 99: 99, 100: 100} {
		if got := l.percentile(p); got != want*time.Millisecond {
			t.Errorf("p%d = %s, want %dms", p, got, want)
		}
	}
	if r := l.rate(); r != 0 {
		t.Errorf("rate without time: %d", r)
	}
	if l.elapsed = 2 * time.Second; l.rate() != 50 {
		t.Errorf("rate %d, want 50", l.rate())
	}
}
