package gen

import (
	"bytes"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/cmd/lockgen/internal/output"
)

// TestInserter puts directives above the functions of packages that others wrote, by rote, and expects that each is
// either refused with a position or gets a wrapper that compiles, passes go vet and is formatted. What people write by
// hand is tested elsewhere; this finds what nobody thought of. LOCKGEN_SOAK=1 takes all functions.
func TestInserter(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles packages of other modules")
	}
	most := 500
	if os.Getenv("LOCKGEN_SOAK") != "" {
		most = 1 << 30
	}
	dir := writeModule(t, nil)
	modules := copyForeign(t, dir)
	if len(modules) < 8 {
		t.Fatalf("packages of %d modules", len(modules))
	}
	dropBroken(t, dir)
	inserted := insertAll(t, dir, most)
	refused := generateOrRefuse(t, dir)
	n := 0
	for kind, count := range refused {
		n += count
		t.Logf("refused: %d %s", count, kind)
		if explanation, _ := Explain(kind); explanation == "" || unjustified[kind] {
			t.Errorf("%d directives are refused as %s, which none deserves that was put there by rote", count, kind)
		}
	}
	t.Logf("%d directives in packages of %d modules, %d refused", inserted, len(modules), n)
	if n*2 > inserted {
		t.Error("most directives are refused")
	}
	expectFormatted(t, dir)
	run(t, dir, "build", "-trimpath", "./...")
	vetGenerated(t, dir)
}

// unjustified are the kinds that say that the inserter or lockgen is wrong: the directives themselves are well formed.
var unjustified = map[string]bool{"look-alike": true, "misplaced": true, "syntax": true, "load": true, "types": true,
	"key-missing": true, "ttl-missing": true, "option-unknown": true, "quote": true, "comma": true, "brace": true,
	"foreign": true, "collision": true, "unbuilt": true, "go-version": true, "pattern": true}

// expectFormatted compares the outputs with what gofmt makes of them.
func expectFormatted(t *testing.T, dir string) {
	t.Helper()
	n := 0
	for _, path := range generatedIn(t, dir) {
		text := readFile(t, path)
		if formatted, err := format.Source(text); err != nil || !bytes.Equal(formatted, text) {
			t.Errorf("%s is not formatted: %v", path, err)
		}
		n++
	}
	if n < 20 {
		t.Errorf("only %d files", n)
	}
}

func generatedIn(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if output.Pattern.MatchString(filepath.Base(path)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// vetGenerated fails for what go vet says about outputs. What it says about the sources was there before.
func vetGenerated(t *testing.T, dir string) {
	t.Helper()
	out, _ := goCommand(dir, "vet", "-trimpath", "./...")
	for line := range strings.Lines(out) {
		name, _, ok := strings.Cut(strings.TrimPrefix(line, "vet: "), ":")
		if ok && output.Pattern.MatchString(filepath.Base(name)) {
			t.Errorf("go vet: %s", line)
		}
	}
}

func goCommand(dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	if dir != "." {
		cmd.Env = configFor(dir).Env
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := goCommand(dir, args...)
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writeFile(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
