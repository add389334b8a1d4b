package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/examples/internal/cli"
	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
)

// mysqlURL writes the address of a test server as -db takes it.
func mysqlURL(s *testenv.MariaDBServer) string {
	return "mysql://" + strings.NewReplacer("tcp(", "", ")", "").Replace(s.DSN())
}

// The defaults of the command: what its users see first.
func TestRun_defaults(t *testing.T) { runSale(t).want(t, 2000, 100) }

// onEveryDatabase runs a test on each kind of database, with the flags for it.
func onEveryDatabase(t *testing.T, test func(t *testing.T, flags ...string)) {
	t.Run("sqlite", func(t *testing.T) { test(t) })
	t.Run("postgres", func(t *testing.T) { test(t, "-db", testenv.Postgres(t).URL()) })
	t.Run("mariadb", func(t *testing.T) { test(t, "-db", mysqlURL(testenv.MariaDB(t))) })
}

func TestRun_processes(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, flags ...string) {
		server := testenv.Redis(t, testenv.RedisConfig{Password: "s3cret"})
		flags = append(flags, "-store", server.URL(), "-requests", "600", "-concurrency", "300", "-users", "200", "-stock",
			"50")
		r := runSale(t, flags...)
		r.want(t, 600, 50)
		if !strings.Contains(r.stdout, "3 instances with locks in redis, orders in ") ||
			strings.Contains(r.stdout, "s3cret") {
			t.Error("the first line is not what was asked for")
		}
	})
}

// On PostgreSQL nothing else is needed: the locks stand beside the orders. An
// instance is killed, and the others go on.
func TestRun_postgresAlone(t *testing.T) {
	server := testenv.Postgres(t)
	r := runSale(t, "-db", server.URL(), "-requests", "200", "-concurrency", "100", "-users", "100", "-stock", "20")
	r.want(t, 200, 20)
	if !strings.Contains(r.stdout, "3 instances with locks in postgres, orders in postgres") {
		t.Error("the first line is not what was asked for")
	}
	r = runSale(t, "-db", server.URL(), "-kill", "30",
		"-requests", "160", "-concurrency", "60", "-users", "80", "-stock", "1000").summary(t)
	// A server that is busy with other work may keep renewals waiting: that is logged, and no order is lost or doubled.
	if r.code != cli.OK || r.requests != 160 || r.sold != 80 || r.oversold != 0 || r.duplicates != 0 {
		t.Errorf("exit status %d, requests=%d sold=%d oversold=%d duplicate_orders=%d, want %d, 160, 80, 0 and 0",
			r.code, r.requests, r.sold, r.oversold, r.duplicates, cli.OK)
	}
}

// Several sales in one database do not count each other's orders.
func TestRun_again(t *testing.T) {
	db := "sqlite:" + t.TempDir() + "/shop with a ? in its name.db"
	for range 2 {
		runSale(t, "-db", db, "-requests", "60", "-users", "20", "-stock", "10").want(t, 60, 10)
	}
}

// Without locks the same code oversells, which is what the locks are for. If this
// test ever fails, the others prove nothing.
func TestRun_unsafeOversells(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, flags ...string) {
		r := runSale(t, append(flags, "-unsafe", "-requests", "1000", "-concurrency", "500", "-stock", "20")...).summary(t)
		if r.code != cli.Failed {
			t.Errorf("exit status %d, want %d", r.code, cli.Failed)
		}
		if r.sold != 20+r.oversold || r.oversold == 0 || r.duplicates == 0 {
			t.Errorf("sold=%d oversold=%d duplicate_orders=%d of 20", r.sold, r.oversold, r.duplicates)
		}
	})
}

func TestRun_unsafeOversellsInProcesses(t *testing.T) {
	server := testenv.Redis(t)
	r := runSale(t, "-unsafe", "-store", server.URL(), "-requests", "1000", "-concurrency", "500", "-stock", "20")
	r = r.summary(t)
	if r.code != cli.Failed || r.oversold == 0 || r.duplicates == 0 {
		t.Errorf("exit status %d, oversold=%d duplicate_orders=%d", r.code, r.oversold, r.duplicates)
	}
}

// The instance that holds the stock is killed while everybody wants it. The others
// go on when its lease has run out, and every user gets one order: what the dead
// instance had written or not, none is written twice.
func TestRun_killedInstance(t *testing.T) {
	server := testenv.Redis(t)
	r := runSale(t, "-store", server.URL(), "-kill", "100",
		"-requests", "800", "-concurrency", "400", "-users", "400", "-stock", "1000")
	r.want(t, 800, 400)
	if !regexp.MustCompile(`(?m)^instance-[123] was killed after 100 answers$`).MatchString(r.stdout) {
		t.Error("nobody was killed")
	}
}

func TestRun_storeDown(t *testing.T) {
	r := runSale(t, "-store", "redis://:s3cret@127.0.0.1:1/0")
	if r.code != cli.Failed || !strings.Contains(r.stderr, "reach redis at 127.0.0.1:1") {
		t.Errorf("exit status %d: %s", r.code, r.stderr)
	}
}

// A store that dies in mid-run is no busy lock: the requests fail, and so does the
// command. Nothing is sold twice.
func TestRun_storeDies(t *testing.T) {
	server := testenv.Redis(t)
	done := make(chan result, 1)
	watch := &testsync.Log{}
	t.Setenv(mainEnv, "1")
	go func() {
		var stderr strings.Builder
		args := []string{"-store", server.URL(), "-requests", "1000", "-users", "1000", "-stock", "1000"}
		code := run(t.Context(), args, watch, &stderr)
		done <- result{code: code, stdout: watch.String(), stderr: stderr.String()}
	}()
	awaitText(t, watch, "3 instances with locks in redis")
	server.Kill()
	r := (<-done).summary(t)
	if r.code != cli.Failed || r.oversold != 0 || r.duplicates != 0 ||
		!strings.Contains(r.stderr, "requests failed, the first: ") {
		t.Errorf("exit status %d, oversold=%d duplicate_orders=%d: %s", r.code, r.oversold, r.duplicates, r.stderr)
	}
}

func TestRun_databaseDown(t *testing.T) {
	for db, want := range map[string]string{
		"postgres://shop:s3cret@127.0.0.1:1/shop": "cannot reach the database (postgres at 127.0.0.1:1, database shop)",
		"mysql://shop:s3cret@127.0.0.1:1/shop":    "cannot reach the database (mysql at 127.0.0.1:1, database shop)",
		"sqlite:/no/such/directory/shop.db":       "cannot reach the database (SQLite in /no/such/directory/shop.db)",
	} {
		r := runSale(t, "-db", db)
		if r.code != cli.Failed || !strings.Contains(r.stderr, want) || strings.Contains(r.stdout+r.stderr, "s3cret") {
			t.Errorf("%s: exit status %d: %s", db, r.code, r.stderr)
		}
	}
}
