package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/examples/internal/cli"
)

// mainEnv makes the test binary the command itself, and so the instances that a
// test starts are compiled with the race detector too.
const mainEnv = "LOCKGEN_FLASHSALE_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// result is what a run of the command said and counted.
type result struct {
	code           int
	stdout, stderr string

	requests, sold, oversold, duplicates, rps int
	p50, p99                                  string
}

// runSale runs the command in this process; its instances are processes if the
// store is not in memory.
func runSale(t *testing.T, args ...string) result {
	t.Helper()
	t.Setenv(mainEnv, "1")
	t.Setenv("TMPDIR", t.TempDir())
	var stdout, stderr strings.Builder
	r := result{code: run(t.Context(), args, &stdout, &stderr)}
	r.stdout, r.stderr = stdout.String(), stderr.String()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("exit status %d\n%s%s", r.code, r.stdout, r.stderr)
		}
	})
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left in its temporary directory: %v (%v)", left, err)
	}
	return r
}

// summary parses the last line, which must be alone on it.
func (r result) summary(t *testing.T) result {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
	last := strings.NewReplacer("=", " ").Replace(lines[len(lines)-1])
	n, err := fmt.Sscanf(last, "requests %d sold %d oversold %d duplicate_orders %d p50 %s p99 %s rps %d",
		&r.requests, &r.sold, &r.oversold, &r.duplicates, &r.p50, &r.p99, &r.rps)
	if n != 7 || err != nil {
		t.Fatalf("the last line is no summary (%v): %q", err, lines[len(lines)-1])
	}
	return r
}

// starved is a warning of a machine that stood still for longer than a store may take,
// or than a lease: then an order is refused, as it should be, and nothing is wrong with
// the sale.
var starved = regexp.MustCompile(`(?m)^time=\S+ level=WARN msg="(lock lease lost|lock leases not renewed|lock sessions not refreshed|` +
	`locks: nothing is heard of LISTEN).*\n`)

// crawls reports whether most answers took seconds, which the waits of the sale do not
// allow for: then not everything is sold, and requests may fail.
func (r result) crawls() bool {
	p50, err := time.ParseDuration(r.p50)
	return err == nil && p50 > 3*time.Second
}

// want fails the test unless the sale was fair and sold everything that it could.
func (r result) want(t *testing.T, requests, sold int) {
	t.Helper()
	r = r.summary(t)
	if r.crawls() {
		t.Logf("half of the answers took %s: %s", r.p50, r.stdout)
		if r.sold > sold || r.oversold != 0 || r.duplicates != 0 {
			t.Errorf("sold=%d oversold=%d duplicate_orders=%d, want %d at the most, 0 and 0", r.sold, r.oversold, r.duplicates, sold)
		}
		return
	}
	if r.code != cli.OK || starved.ReplaceAllString(r.stderr, "") != "" {
		t.Errorf("exit status %d, want 0, and on standard error: %s", r.code, r.stderr)
	}
	if r.requests != requests || r.sold != sold || r.oversold != 0 || r.duplicates != 0 {
		t.Errorf("requests=%d sold=%d oversold=%d duplicate_orders=%d, want %d, %d, 0 and 0",
			r.requests, r.sold, r.oversold, r.duplicates, requests, sold)
	}
}

// canceled is a context that has ended.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
