package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
)

// mainEnv makes the test binary the command itself, and so its nodes.
const mainEnv = "LOCKGEN_SQLCLUSTER_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		main()
	}
	os.Setenv(mainEnv, "1")
	goleak.VerifyTestMain(m)
}

// runExample runs it for some seconds with a kill in the middle.
func runExample(t *testing.T, store string) {
	t.Helper()
	var out, stderr testsync.Log // the nodes share the second
	code := run(context.Background(), []string{"-store", store, "-for", "10s", "-kill", "4s", "-addr", "127.0.0.1:0"}, &out, &stderr)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	summary := regexp.MustCompile(`^ticks=\d+ runs=\d+ duplicates=0 missed=0 lost=\d+$`)
	if code != 0 || !summary.MatchString(lines[len(lines)-1]) || !strings.Contains(out.String(), "killed with SIGKILL") ||
		!regexp.MustCompile(`(?m)^\d+ customers, [1-9]\d* orders, [1-9]\d* receipts sent, 0 wrong$`).MatchString(out.String()) {
		t.Errorf("exit status %d\n%s%s", code, out.String(), stderr.String())
	}
}

func TestRun_sqlite(t *testing.T) {
	runExample(t, "sqlite:"+filepath.Join(t.TempDir(), "it's jobs.db"))
}

func TestRun_postgres(t *testing.T) { runExample(t, testenv.Postgres(t).URL()) }

func TestRun_mariadb(t *testing.T) {
	dsn := testenv.MariaDB(t).DSN()
	runExample(t, "mysql://"+strings.NewReplacer("tcp(", "", ")", "").Replace(dsn))
}

func TestRun_flags(t *testing.T) {
	for args, want := range map[string]string{
		"":                                  "-store is missing: want sqlite:FILE",
		"-store redis://:secret@127.0.0.1/": "-store is of no known kind: want sqlite:FILE",
		"-store sqlite:":                    "-store is of no known kind",
		"-store mysql://a:secret@127.0.0.1": "-store has no host or no database",
		"-store etcd://127.0.0.1":           "-jobs is missing: etcd keeps the locks alone",
		"-store etcd://127.0.0.1 -jobs etcd://a:secret@b":   "-jobs is of no known kind: want sqlite:FILE",
		"-store etcd://127.0.0.1 -jobs mysql://a:secret@b":  "-jobs has no host or no database",
		"-store etcd://127.0.0.1 -jobs redis://":            "or redis://[:password@]host:port/db",
		"-store etcd://127.0.0.1 -jobs redis://:secret@a/x": "-jobs is not a URL that the Redis client understands",
		"-store sqlite:x -jobs sqlite:y":                    "-jobs is for locks in etcd",
		"-store sqlite:x -nodes 0":                          "-nodes 0: want 1 to 20",
		"-store sqlite:x -for -1s":                          "-for -1s: want a positive duration",
		"-store sqlite:x -kill 0s":                          "-kill 0s: want a positive duration",
		"-store sqlite:x -kill 1s -nodes 1":                 "would leave no node",
		"-store sqlite:x -kill 9s -for 5s":                  "is not before the end",
		"-store sqlite:x more":                              "unexpected argument",
	} {
		var out, stderr bytes.Buffer
		code := run(context.Background(), strings.Fields(args), &out, &stderr)
		if code != 2 || !strings.Contains(stderr.String(), want) || strings.Contains(stderr.String(), "secret") {
			t.Errorf("%q: exit status %d, %q; want 2 and %q", args, code, stderr.String(), want)
		}
	}
	for args, want := range map[string]string{
		"-store etcd://127.0.0.1 -jobs sqlite:/nothere/at/all.db":   "cannot reach the database of -jobs",
		"-store sqlite:/nothere/at/all.db":                          "cannot reach the database",
		"-store etcd://127.0.0.1 -jobs redis://:secret@127.0.0.1:1": "cannot reach Redis of -jobs at 127.0.0.1:1",
		"-store postgres://a:secret@127.0.0.1:1/db":                 "127.0.0.1",
		"-store mysql://a:secret@127.0.0.1:1/db -addr 127.0.0.1:":   "127.0.0.1:1",
	} {
		var out, stderr bytes.Buffer
		code := run(context.Background(), strings.Fields(args), &out, &stderr)
		if code != 1 || !strings.Contains(stderr.String(), want) || strings.Contains(stderr.String(), "secret") {
			t.Errorf("%q: exit status %d, %q; want 1 and %q", args, code, stderr.String(), want)
		}
	}
}
