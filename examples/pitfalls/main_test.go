package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/examples/internal/cli"
	"github.com/lockgen/lockgen/examples/pitfalls/recipes"
	"github.com/lockgen/lockgen/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// command runs the command and returns what it printed. It must leave nothing in
// its temporary directory.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	var out, errs strings.Builder
	code = run(t.Context(), args, &out, &errs)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("exit status %d\n%s%s", code, &out, &errs)
		}
	})
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left in its temporary directory: %v (%v)", left, err)
	}
	return code, out.String(), errs.String()
}

// wantAll checks that every recipe failed and every wrapper was safe.
func wantAll(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if code != cli.OK || stderr != "" {
		t.Errorf("exit status %d, want 0, and on standard error: %s", code, stderr)
	}
	n := len(recipes.Pitfalls)
	if fails, safe := strings.Count(stdout, "  FAILS  "), strings.Count(stdout, "  safe   "); fails != n || safe != n {
		t.Errorf("%d recipes failed and %d wrappers were safe, want %d of both", fails, safe, n)
	}
	if !strings.HasSuffix(stdout, "go test -C examples/sql -v ./rowlocks\n") {
		t.Error("the end does not say where the database locks are")
	}
	for _, p := range recipes.Pitfalls {
		if !strings.Contains(stdout, p.Recipe) || !strings.Contains(stdout, p.Scenario) ||
			!strings.Contains(stdout, p.Check) {
			t.Errorf("the table does not show %s, %s, %s", p.Recipe, p.Scenario, p.Check)
		}
	}
}

func TestRun_redis(t *testing.T) {
	server := testenv.Redis(t, testenv.RedisConfig{Password: "s3cret"})
	code, stdout, stderr := command(t, "-redis", server.URL(), "-storm", "0")
	// Leases of a second run out where a machine stands still.
	for again := 0; again < 2 && strings.Contains(stdout, "without a renewal"); again++ {
		code, stdout, stderr = command(t, "-redis", server.URL(), "-storm", "0")
	}
	wantAll(t, code, stdout, stderr)
	if strings.Contains(stdout, "s3cret") {
		t.Error("the password is printed")
	}
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	if keys, err := client.Keys(t.Context(), "*").Result(); err != nil || len(keys) > 0 {
		t.Errorf("keys are left: %v, %v", keys, err)
	}
}

// Without flags the command starts a server of its own.
func TestRun_startsAServer(t *testing.T) {
	testenv.Redis(t) // skips where there is no redis-server
	code, stdout, _ := command(t, "-only", "setnx_expire.go", "-storm", "0")
	if code != cli.OK || !strings.HasPrefix(stdout, "on a redis-server of its own\n") ||
		strings.Count(stdout, "  FAILS  ") != 1 {
		t.Errorf("exit status %d: %s", code, stdout)
	}
}

// Where there is no server to start, the command says what to install or to name.
func TestRun_noServer(t *testing.T) {
	t.Setenv("LOCKGEN_REDIS_SERVER", "no-such-program")
	code, stdout, stderr := command(t, "-only", "setnx_expire.go", "-storm", "0")
	if code != cli.Failed || stdout != "" {
		t.Errorf("exit status %d: %s", code, stdout)
	}
	for _, want := range []string{"no-such-program", "install", "-redis redis://host:port/db"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("the error does not name %s: %s", want, stderr)
		}
	}
}

func TestRun_measuresStorms(t *testing.T) {
	code, stdout, stderr := command(t, "-redis", testenv.Redis(t).URL(), "-only", "LL2010", "-storm", "4")
	if code != cli.OK || stderr != "" {
		t.Errorf("exit status %d: %s", code, stderr)
	}
	for _, want := range []string{
		"4 wait for one lock", "commands each", "ask again at once", "yield", "sleep 10 ms", "sleep 200 ms",
		"sleep twice as long", "lockgen",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the table has no %q", want)
		}
	}
}

func TestRun_interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	if code := run(ctx, []string{"-redis", testenv.Redis(t).URL()}, &out, &out); code != cli.Failed ||
		!strings.Contains(out.String(), "context canceled") {
		t.Errorf("exit status %d: %s", code, out.String())
	}
}

// A recipe that did not fail, or a wrapper that did, is noticed.
func TestPrintTable_surprises(t *testing.T) {
	fails, safe := result{Outcome: recipes.Outcome{What: "x"}}, result{Outcome: recipes.Outcome{Safe: true, What: "y"}}
	broken := result{err: context.DeadlineExceeded}
	for _, tt := range []struct {
		byHand, safely result
		want           bool
	}{
		{fails, safe, true}, {safe, safe, false}, {fails, fails, false}, {broken, safe, false}, {fails, broken, false},
	} {
		var out strings.Builder
		if got := printTable(&out, []row{{byHand: tt.byHand, safely: tt.safely}}); got != tt.want {
			t.Errorf("%v and %v: %v\n%s", tt.byHand, tt.safely, got, &out)
		}
	}
}
