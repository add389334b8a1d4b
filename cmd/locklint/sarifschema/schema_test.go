// Package sarifschema checks what locklint -sarif prints against the published schema of SARIF 2.1.0. It is a module
// of its own because the schema comes with a library that the project itself does not need.
package sarifschema

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/xeipuuv/gojsonschema"
)

// shop has findings with everything that the format has a place for: related places, fixes, comments that silence, a
// line with characters beyond the first plane, and tabs.
const shop = `package shop

import (
	"context"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/redis/go-redis/v9"
)

type Locks struct{ rdb *redis.Client }

func (l Locks) Lock(ctx context.Context, key string) bool {
	ok, err := l.rdb.SetNX(ctx, key, "𝄞", 0).Result()
	if err != nil || !ok {
		return false
	}
	l.rdb.Expire(ctx, key, time.Minute)
	return true
}

func (l Locks) Unlock(ctx context.Context, key string) {
	//locklint:ignore LL2002 one instance only
	/* 𝄞 */ l.rdb.Del(ctx, key)
}

func Work(ctx context.Context, locks *lockrt.Locker) error {
	lease, err := locks.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	return lease.Check(ctx)
}
`

// TestSARIF_schema: the log is valid with findings of all kinds, with a baseline, without any findings, and for a
// package that does not compile.
func TestSARIF_schema(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	locklint := filepath.Join(t.TempDir(), "locklint.exe")
	if out, err := goCommand(root, "build", "-o", locklint, "./cmd/locklint").CombinedOutput(); err != nil {
		t.Fatalf("cannot build locklint: %v\n%s", err, out)
	}
	dir := t.TempDir()
	writeModule(t, root, dir, map[string]string{
		"shop/a shop.go":   shop,
		"clean/clean.go":   "package clean\n",
		"broken/broken.go": "package broken\n\nvar x int = nothing\n",
	})

	full := log(t, locklint, dir, 1, "-enable", "all", "-sarif", "./shop")
	for _, want := range []string{`"fixes"`, `"suppressions"`, `"relatedLocations"`, `"help"`, `"justification"`} {
		if !strings.Contains(full, want) {
			t.Errorf("the log lacks %s: the test has to grow with the format", want)
		}
	}
	validate(t, "all kinds of findings", full)

	log(t, locklint, dir, 0, "-baseline", "known.json", "-write-baseline", "./shop")
	validate(t, "with a baseline", log(t, locklint, dir, 0, "-baseline", "known.json", "-sarif", "./shop"))
	validate(t, "without findings", log(t, locklint, dir, 0, "-sarif", "./clean"))
	validate(t, "a package that does not compile", log(t, locklint, dir, 2, "-sarif", "./broken"))
}

// TestSARIF_schemaRefuses: the validation is not empty.
func TestSARIF_schemaRefuses(t *testing.T) {
	for _, text := range []string{
		`{"version": "2.1.0", "runs": [{"results": []}]}`,
		`{"version": "2.1.0", "runs": [], "extra": 1}`,
		`{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}, "results": [{}]}]}`,
		`{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}, "results": [{"message": {"text": "x"}, "level": "fatal"}]}]}`,
	} {
		if problems(t, text) == nil {
			t.Errorf("%s is not valid, but passes", text)
		}
	}
}

func writeModule(t *testing.T, root, dir string, files map[string]string) {
	t.Helper()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(mod, []byte("\n"))
	files["go.mod"] = fmt.Sprintf("module example.com/shop\n%s\nrequire github.com/lockgen/lockgen v0.0.0\n\n"+
		"replace github.com/lockgen/lockgen => %s\n", rest, root)
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	files["go.sum"] = string(sum)
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// log runs locklint and returns what it prints.
func log(t *testing.T, locklint, dir string, code int, args ...string) string {
	t.Helper()
	cmd := exec.Command(locklint, args...)
	cmd.Dir = dir
	cmd.Env = environ()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("locklint %s: %v, want exit code %d\n%s%s", strings.Join(args, " "), err, code, stderr.Bytes(), stdout.Bytes())
	}
	return stdout.String()
}

func goCommand(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = environ()
	return cmd
}

func environ() []string {
	return append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off")
}

func validate(t *testing.T, what, text string) {
	t.Helper()
	for _, p := range problems(t, text) {
		t.Errorf("%s: %s", what, p)
	}
}

// problems says what the published schema has against a log.
func problems(t *testing.T, text string) []gojsonschema.ResultError {
	t.Helper()
	result, err := gojsonschema.Validate(gojsonschema.NewStringLoader(schema(t)), gojsonschema.NewStringLoader(text))
	if err != nil {
		t.Fatal(err)
	}
	return result.Errors()
}

// schema is the text that go-sarif carries in its source. Its own validation would not do: it asks whether its structs
// are valid, after whatever they do not know is gone.
func schema(t *testing.T) string {
	t.Helper()
	out, err := goCommand(".", "list", "-f", "{{.Dir}}", reflect.TypeFor[sarif.Report]().PkgPath()).Output()
	if err != nil {
		t.Fatalf("cannot find the source of go-sarif: %v", err)
	}
	name := filepath.Join(strings.TrimSpace(string(out)), "schema.go")
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err = strconv.Unquote(lit.Value)
		}
		return true
	})
	if err != nil || !strings.Contains(text, "Format (SARIF) Version 2.1.0 JSON Schema") {
		t.Fatalf("%s does not hold the schema: %v", name, err)
	}
	return text
}
