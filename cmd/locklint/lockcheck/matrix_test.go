package lockcheck

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/checktest"
)

// The matrix: ways in which programs wrap a lock (testdata/matrix/*.go) times ways in which they use it (uses, below), each
// with the wrapper in the user's package and in one of its own. testdata/matrix.txt shows what is found where, so that a
// hole in one of the ways is seen at once.

var updateMatrix = flag.Bool("update-matrix", false, "write testdata/matrix.txt anew")

// A use is the body of a function that uses a lock. In braces stand the parts of a wrapper.
type use struct {
	name   string
	fine   bool // nothing is to be found
	header string
	body   string
}

var uses = []use{
	{name: "early", body: `{take}; if {refused} { return {error} }; if err := work(ctx); err != nil { return err }; {release}; return nil`},
	{name: "invalid", body: `{take}; if {refused} { return {error} }; if len(id) > 9 { return errors.New("long") }; _ = work(ctx); {release}; return nil`},
	{name: "cancelled", body: `{take}; if {refused} { return {error} }; select { case <-ctx.Done(): return ctx.Err(); case <-time.After(time.Second): }; {release}; return nil`},
	{name: "loop", body: `for _, id := range strings.Fields(id) { {take}; if {refused} { continue }; if err := work(ctx); err != nil { continue }; {release} }; return nil`},
	{name: "literal", body: `f := func() error { {take}; if {refused} { return {error} }; if err := work(ctx); err != nil { return err }; {release}; return nil }; return f()`},
	{name: "goroutine", body: `go func() { {take}; if {refused} { return }; if err := work(ctx); err != nil { log.Println(err); return }; {release} }(); return nil`},
	{name: "goeson", body: `{take}; if {refused} { log.Println("lock", id) }; if err := work(ctx); err != nil { log.Println(err) }; {release}; return nil`},
	{name: "goesondefer", body: `{take}; if {refused} { log.Println("lock", id) }; defer {release}; return work(ctx)`},
	{name: "tries", body: `{take}; if {refused} { for range 3 { time.Sleep(time.Second); {again}; if !({refused}) { break } } }; defer {release}; return work(ctx)`},
	{name: "deferfirst", body: `{take}; defer {release}; if {refused} { return {error} }; return work(ctx)`},
	{name: "context", body: `{take}; if {refused} { return {error} }; defer {release}; return work(ctx)`},
	{name: "contextlater", body: `{take}; if {refused} { return {error} }; err2 := work(ctx); {release}; return err2`},
	{name: "deadline", body: `ctx, cancel := context.WithTimeout(ctx, time.Second); defer cancel(); {take}; if {refused} { return {error} }; defer {release}; return work(ctx)`},
	{name: "request", header: `(s *S) %s(w http.ResponseWriter, r *http.Request)`, body: `id, ctx := r.URL.Path, r.Context(); {take}; if {refused} { http.Error(w, "busy", 409); return }; defer func() { {release} }(); if err := work(ctx); err != nil { http.Error(w, err.Error(), 500) }`},
	{name: "transaction", body: `tx, err3 := s.db.BeginTx(ctx, nil); if err3 != nil { return err3 }; defer tx.Rollback(); {take}; if {refused} { return {error} }; defer {release}; if _, err := tx.ExecContext(ctx, "UPDATE a SET b = 1"); err != nil { return err }; return tx.Commit()`},
	{name: "spin", body: `for { {take}; if !({refused}) { {release}; break } }; return nil`},

	{name: "deferred", fine: true, body: `{take}; if {refused} { return {error} }; defer func() { ctx := context.WithoutCancel(ctx); _ = ctx; {release} }(); return work(ctx)`},
	{name: "again", fine: true, body: `{take}; for i := 0; i < 3 && ({refused}); i++ { time.Sleep(time.Second); {again} }; if {refused} { return {error} }; defer func() { ctx := context.WithoutCancel(ctx); _ = ctx; {release} }(); return work(ctx)`},
	{name: "attempts", fine: true, body: `for range 3 { {take}; if {refused} { time.Sleep(time.Second); continue }; defer func() { ctx := context.WithoutCancel(ctx); _ = ctx; {release} }(); return work(ctx) }; return errors.New("busy")`},
	{name: "eachway", fine: true, body: `{take}; if {refused} { return {error} }; if err := work(ctx); err != nil { { ctx := context.Background(); _ = ctx; {release} }; return err }; { ctx := context.Background(); _ = ctx; {release} }; return nil`},
	{name: "before", fine: true, body: `{take}; if {refused} { return {error} }; err4 := work(ctx); { ctx := context.WithoutCancel(ctx); _ = ctx; {release} }; if err4 != nil { return err4 }; return work(ctx)`},
}

// A wrapper is one of testdata/matrix/*.go.
type wrapper struct {
	name  string
	parts map[string]string
	code  string // without its package clause
}

func wrappers(t *testing.T) (all []wrapper) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "matrix", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no wrappers: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, code, ok := strings.Cut(string(text), "\npackage lk\n")
		if !ok {
			t.Fatalf("%s has no package clause", file)
		}
		w := wrapper{name: strings.ReplaceAll(strings.TrimSuffix(filepath.Base(file), ".go"), "-", "_"), code: code, parts: map[string]string{}}
		for line := range strings.Lines(head) {
			name, part, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "//matrix:"), " ")
			w.parts[name] = part
		}
		w.parts["again"] = strings.Replace(w.parts["take"], ":=", "=", 1)
		if setup := w.parts["setup"]; setup != "" {
			w.parts["take"] = setup + "; " + w.parts["take"]
		}
		all = append(all, w)
	}
	return all
}

// code is the user's package, with the wrapper elsewhere or in it.
func (w wrapper) user(imports []string, own bool) string {
	var text strings.Builder
	text.WriteString("type S struct {\n\tlocks *lk.Locks\n\tdb    *sql.DB\n}\n\nfunc work(ctx context.Context) error { return ctx.Err() }\n")
	for _, u := range uses {
		header := u.header
		if header == "" {
			header = "(s *S) %s(ctx context.Context, id string) error"
		}
		body := u.body
		for name, part := range w.parts {
			body = strings.ReplaceAll(body, "{"+name+"}", part)
		}
		fmt.Fprintf(&text, "\nfunc "+header+" {\n%s\n}\n", "Use"+u.name, strings.ReplaceAll(body, "; ", "\n"))
	}
	code := text.String()
	if own {
		code = strings.ReplaceAll(code, "lk.", "") + ownImports.ReplaceAllString(w.code, "")
		for _, spec := range importSpec.FindAllStringSubmatch(w.code, -1) {
			imports = append(imports, spec[1])
		}
	}
	var head strings.Builder
	head.WriteString("package user\n\nimport (\n")
	for _, path := range slices.Compact(slices.Sorted(slices.Values(imports))) {
		name := versionSuffix.ReplaceAllString(path, "")
		if name = name[strings.LastIndexByte(name, '/')+1:]; name == "go-redis" {
			name = "redis"
		}
		if strings.Contains(code, name+".") {
			fmt.Fprintf(&head, "\t%s %q\n", name, path)
		}
	}
	head.WriteString(")\n\n")
	return head.String() + code
}

var (
	importSpec    = regexp.MustCompile(`(?m)^(?:\t|import )"([^"]+)"$`)
	ownImports    = regexp.MustCompile(`(?s)^\nimport (?:\(.*?\n\)\n|"[^"]*"\n)`)
	versionSuffix = regexp.MustCompile(`/v\d+$`)
)

// TestMatrix runs all checks that are on by default.
func TestMatrix(t *testing.T) {
	tree := checktest.Tree(t)
	all := wrappers(t)
	var packages []string
	write := func(path, text string) {
		file := filepath.Join(tree, "src", filepath.FromSlash(path), "x.go")
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	std := []string{"context", "database/sql", "errors", "log", "net/http", "strings", "time"}
	for _, w := range all {
		write("matrix/"+w.name+"/lk", "package lk\n"+w.code)
		write("matrix/"+w.name+"/apart", w.user(append([]string{"matrix/" + w.name + "/lk"}, std...), false))
		write("matrix/"+w.name+"/within", w.user(std, true))
		packages = append(packages, "matrix/"+w.name+"/apart", "matrix/"+w.name+"/within")
	}
	var on []*analysis.Analyzer
	for _, c := range Checks {
		if !c.Off {
			on = append(on, c.Analyzer)
		}
	}
	found := map[string]map[string]bool{} // IDs by package and function
	for action := range checktest.AnalyzeAll(t, tree, on, packages...).All() {
		if errs := action.Package.Errors; len(errs) > 0 {
			t.Fatalf("%s does not compile: %v", action.Package.PkgPath, errs[0])
		}
		result, ok := action.Result.(*Result)
		if !ok || !action.IsRoot {
			continue
		}
		for _, f := range result.Findings {
			_, name, _ := strings.Cut(f.Function, "Use")
			at := strings.TrimPrefix(action.Package.PkgPath, "matrix/") + " " + name
			if found[at] == nil {
				found[at] = map[string]bool{}
			}
			found[at][action.Analyzer.Name] = true
		}
	}
	table := matrix(t, all, found)
	golden := filepath.Join("testdata", "matrix.txt")
	if *updateMatrix {
		if err := os.WriteFile(golden, []byte(table), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if table != string(want) {
		t.Errorf("testdata/matrix.txt is another one now (go test -run TestMatrix -update-matrix):\n%s", table)
	}
}

// matrix lists what is found, one use after another.
func matrix(t *testing.T, all []wrapper, found map[string]map[string]bool) string {
	var text strings.Builder
	for _, u := range uses {
		fmt.Fprintf(&text, "%s\n", u.name)
		for _, w := range all {
			row := map[string]string{}
			for _, where := range []string{"apart", "within"} {
				ids := slices.Sorted(maps.Keys(found[w.name+"/"+where+" "+u.name]))
				ids = slices.DeleteFunc(ids, func(id string) bool { return u.fine && id == "LL3001" }) // of the release itself
				if u.fine && len(ids) > 0 {
					t.Errorf("%s, %s: %v in %s, which is fine", w.name, where, ids, u.name)
				}
				row[where] = strings.Join(ids, " ")
			}
			line := row["apart"]
			if row["within"] != line {
				line = fmt.Sprintf("%s | within its package: %s", line, row["within"])
			}
			fmt.Fprintf(&text, "\t%-18s %s", w.name, line)
			text.WriteString("\n")
		}
	}
	return strings.ReplaceAll(text.String(), " \n", "\n")
}
