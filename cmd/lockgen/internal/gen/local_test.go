package gen

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load"
	"github.com/lockgen/lockgen/internal/testmodule"
)

// writeModule writes a module of the given files and returns its folder. It replaces this project's own module by the
// sources here, as the scripts do.
func writeModule(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := testmodule.Init(dir, "example.com/app"); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		flags := os.O_CREATE | os.O_TRUNC
		if name == "more.mod" {
			name, flags = "go.mod", os.O_APPEND
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		file, err := os.OpenFile(path, os.O_WRONLY|flags, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.WriteString(text)
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func configFor(dir string) Config {
	return Config{Dir: dir, Patterns: []string{"./..."},
		Env: append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local")}
}

// generate runs the generator on ./... of a folder. loadAll asks the go command about everything.
func generate(t testing.TB, dir string, loadAll bool) *Result {
	t.Helper()
	cfg := configFor(dir)
	cfg.adjust = func(from *load.Config) { from.AskAlways = loadAll }
	result, err := Generate(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestLister_saysWhatTheGoCommandSays: what is understood without the go command comes out as with it, for every
// program of the scripts, the good ones and the bad ones.
func TestLister_saysWhatTheGoCommandSays(t *testing.T) {
	for _, pattern := range []string{"../../testdata/*.txtar", "../../testdata/errors/*.txtar"} {
		scripts, err := filepath.Glob(pattern)
		if err != nil || len(scripts) < 10 {
			t.Fatalf("%d scripts, %v", len(scripts), err)
		}
		files := map[string]string{}
		for _, path := range scripts {
			if filepath.Base(path) == "workspace.txtar" {
				continue // of several modules
			}
			addScript(t, files, path)
		}
		dir := writeModule(t, files)
		compareResults(t, generate(t, dir, false), generate(t, dir, true))
		compareResults(t, generate(t, dir, true), generateWhole(t, dir))
	}
}

// TestLister_agreesOnTheCorpus is the same for the torture corpus.
func TestLister_agreesOnTheCorpus(t *testing.T) {
	dir := writeModule(t, nil)
	if err := os.CopyFS(dir, os.DirFS("../../testdata/torture")); err != nil {
		t.Fatal(err)
	}
	compareResults(t, generate(t, dir, false), generate(t, dir, true))
	compareResults(t, generate(t, dir, true), generateWhole(t, dir))
}

// TestLister_doesNotGuess: each of these is another program than it seems to be without the declarations of another
// module.
func TestLister_doesNotGuess(t *testing.T) {
	const imports = "import (\n\"example.org/go-ext\"\nlockrt \"" + directive.RuntimePath +
		"\"\n)\n\nvar _ *lockrt.Locker\nvar _ ext.T\n\n"
	files := map[string]string{
		"more.mod":      "\nrequire example.org/go-ext v0.0.0\n\nreplace example.org/go-ext => ./go-ext\n",
		"go-ext/go.mod": "module example.org/go-ext\n\ngo 1.26\n\nrequire " + load.OwnModule + " v0.0.0\n",
		"go-ext/ext.go": "package ext\n\nimport lockrt \"" + directive.RuntimePath +
			"\"\n\ntype (\nLocks = lockrt.Locker\nLease = lockrt.Lease\nErr = error\nT struct{ ID int }\nText interface{ " +
			"~string }\n)\n",
	}
	for name, code := range map[string]string{
		"locker":   "type S struct{ locks *ext.Locks }\n\n//lock:key=a,ttl=1s\nfunc (s S) runLocked() {}\n",
		"lease":    "//lock:key=a,ttl=1s\nfunc runLocked(l *ext.Lease) {}\n",
		"err":      "//lock:key=a,ttl=1s\nfunc runLocked() (int, ext.Err) { return 0, nil }\n",
		"name":     "//lock:key=a,ttl=1s\nfunc runLocked(l []ext.T) {}\n",
		"alias":    "type Mine = ext.Err\n\n//lock:key=a,ttl=1s\nfunc runLocked() Mine { return nil }\n",
		"narrowed": "//lock:key=a:{x},ttl=1s\nfunc runLocked[X interface{ ~string | ~int; ext.Text }](x X) {}\n",
		"elsewhere": "type Both interface{ ~string | ~int; ext.Text }\n\n//lock:key=a:{x},ttl=1s\nfunc runLocked[X Both](x " +
			"X) {}\n",
		"marshaler": "type T struct{ ext.T }\n\n//lock:key=a:{t.ID},ttl=1s\nfunc runLocked(t T) {}\n",
		"result":    "//lock:key=a,ttl=1s\nfunc runLocked() (map[string]ext.T, error) { return nil, nil }\n",
	} {
		files[name+"/a.go"] = "package " + name + "\n\n" + imports + code
	}
	files["outside/a.go"] = "package outside\n\ntype T struct{ ID int }\n"
	files["outside/a_test.go"] = "package outside_test\n\nimport (\n\"example.com/app/outside\"\nlockrt \"" +
		directive.RuntimePath + "\"\n)\n\nvar _ *lockrt.Locker\n\n" +
		"//lock:key=a:{t.ID},ttl=1s\nfunc runLocked(t outside.T) {}\n"
	dir := writeModule(t, files)
	compareResults(t, generate(t, dir, false), generate(t, dir, true))

	// Two embedded structs have the field, and only one of them is known here.
	files = map[string]string{"more.mod": files["more.mod"], "go-ext/go.mod": files["go-ext/go.mod"],
		"go-ext/ext.go": files["go-ext/ext.go"],
		"a/a.go": "package a\n\n" + imports +
			"type Known struct{ ID int }\n\ntype Both struct {\nKnown\next.T\n}\n\n//lock:key=a:{b.ID},ttl=1s\nfunc " +
			"runLocked(b Both) {}\n"}
	if result := generate(t, writeModule(t, files), false); len(result.Problems) != 1 {
		t.Errorf("an ambiguous field: %+v", result)
	}
	files["go-ext/ext.go"] += "\nconst Spec = \"0 0 31 2 *\"\n"
	files["a/a.go"] = "package a\n\n" + imports +
		"const spec = ext.Spec\n\n//lock:key=a,ttl=1s,cron=@spec\nfunc runLocked() {}\n"
	if result := generate(t, writeModule(t, files), false); len(result.Problems) != 1 ||
		result.Problems[0].Kind != "cron" {
		t.Errorf("a spec that never fires, from elsewhere: %+v", result)
	}
}

// addScript adds the Go files of a script, in a folder of its own.
func addScript(t *testing.T, files map[string]string, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	folder := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(path), ".txtar"), "-", "_")
	bad := strings.Contains(path, "errors")
	for _, f := range archive.Files {
		if !strings.HasSuffix(f.Name, ".go") || !bad && (strings.Contains(f.Name, "bad") || f.Name == "syntax.go") {
			continue
		}
		files[folder+"/"+f.Name] = strings.ReplaceAll(string(f.Data), `"example.com/app/`, `"example.com/app/`+folder+"/")
	}
}

func compareResults(t *testing.T, got, want *Result) {
	t.Helper()
	for i := range max(len(got.Problems), len(want.Problems)) {
		if i >= len(got.Problems) || i >= len(want.Problems) || got.Problems[i].String() != want.Problems[i].String() {
			t.Fatalf("problems differ:\n%v\nwith the go command:\n%v", got.Problems, want.Problems)
		}
	}
	if len(got.Files)+len(got.Problems) < 8 {
		t.Fatalf("only %d files and %d problems", len(got.Files), len(got.Problems))
	}
	if len(got.Files) != len(want.Files) {
		t.Fatalf("%d files, with the go command %d", len(got.Files), len(want.Files))
	}
	for i, f := range got.Files {
		if string(f.Want) != string(want.Files[i].Want) {
			t.Errorf("%s:\n%s\nwith the go command:\n%s", f.Path, f.Want, want.Files[i].Want)
		}
	}
}
