package leases

import (
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/checktest"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/program"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/summaries"
)

// TestNew_bounded: what a function may do with hundreds of locks, each released at once, later or not at all, is beyond
// counting. The function is given up after a bounded number of visits, however many locks it has.
func TestNew_bounded(t *testing.T) {
	li := look(t, 200, `
	l%[1]d, err := c.Obtain(ctx, "k", time.Minute, nil)
	if err != nil {
		return err
	}
	if n == %[1]d {
		defer func() { _ = l%[1]d.Release(ctx) }()
	} else if n > %[1]d {
		_ = l%[1]d.Release(ctx)
	}
`, "")
	if len(li.Flows) != 200 {
		t.Fatalf("%d leases, want 200", len(li.Flows))
	}
	for _, n := range li.costs {
		if n > maxTotal+len(li.Flows) {
			t.Errorf("visits cost %d, want at most %d", n, maxTotal)
		}
	}
	if !li.Flows[len(li.Flows)-1].GaveUp {
		t.Error("the last lease has been followed to its end, though others have taken all that there is")
	}
	given := 0
	for _, flow := range li.Flows {
		if flow.GaveUp {
			given++
		}
	}
	if len(li.GivenUp) != given || li.GivenUp[0].What != "the lock from Obtain" || !li.GivenUp[0].Pos.IsValid() {
		t.Errorf("%d leases are told as given up, want %d", len(li.GivenUp), given)
	}
}

// TestNew_many: a long function that does the same with many locks, one after the other, is followed.
func TestNew_many(t *testing.T) {
	li := look(t, 100, `
	l%[1]d, err := c.Obtain(ctx, "k", time.Minute, nil)
	if err != nil {
		return err
	}
	if err := l%[1]d.Release(ctx); err != nil {
		return err
	}
`, "")
	if len(li.Flows) != 100 {
		t.Fatalf("%d leases, want 100", len(li.Flows))
	}
	for i, flow := range li.Flows {
		if flow.GaveUp || len(flow.Leaks) > 0 {
			t.Errorf("lease %d: given up: %t, leaks: %d", i, flow.GaveUp, len(flow.Leaks))
		}
	}
}

// TestNew_nested: so is one that takes each lock within the last, though the way to the end of it becomes ever longer.
func TestNew_nested(t *testing.T) {
	li := look(t, 150, `
	if l%[1]d, err := c.Obtain(ctx, "k", time.Minute, nil); err == nil {
`, `
	if n == %[1]d {
		return nil
	}
	_ = l%[1]d.Release(ctx)
	}
`)
	if len(li.Flows) != 150 {
		t.Fatalf("%d leases, want 150", len(li.Flows))
	}
	for i, flow := range li.Flows {
		if flow.GaveUp || len(flow.Leaks) == 0 {
			t.Errorf("lease %d: given up: %t, leaks: %d", i, flow.GaveUp, len(flow.Leaks))
		}
	}
}

// look follows the leases of a function that does something with each of n locks, and something more in reverse order.
func look(t *testing.T, n int, what, then string) *Info {
	t.Helper()
	var text strings.Builder
	text.WriteString("package long\n\nimport (\n\t\"context\"\n\t\"time\"\n\n\t\"github.com/bsm/redislock\"\n)\n\n" +
		"func long(ctx context.Context, c *redislock.Client, n int) error {\n")
	for i := range n {
		fmt.Fprintf(&text, what, i)
	}
	for i := n - 1; i >= 0 && then != ""; i-- {
		fmt.Fprintf(&text, then, i)
	}
	text.WriteString("\treturn nil\n}\n")
	return lookAt(t, text.String())
}

// lookAt follows the leases of a package of one file.
func lookAt(t *testing.T, text string) *Info {
	t.Helper()
	tree := checktest.Tree(t)
	dir := filepath.Join(tree, "src", "long")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "long.go"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	var li *Info
	checktest.Analyze(t, tree, &analysis.Analyzer{
		Name: "leases", Doc: "leases follows leases", ResultType: reflect.TypeFor[*Info](),
		Run: func(pass *analysis.Pass) (any, error) {
			p := &program.Package{Pass: pass, Impls: map[*types.Func]*types.Func{}}
			p.BuildSSA()
			li = New(p, summaries.New(p))
			return li, nil
		},
	}, "long")
	if li == nil {
		t.Fatal("the package has not been looked at")
	}
	return li
}
