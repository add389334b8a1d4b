package examples

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// storeRows are the rows of README's table of stores, by the package of the store.
var storeRows = map[string][]string{
	"memstore":   {"memory"},
	"redisstore": {"Redis"},
	"sqlstore":   {"PostgreSQL", "MySQL, MariaDB", "SQLite"},
	"etcdstore":  {"etcd"},
	"zkstore":    {"ZooKeeper"},
}

// TestDocs_nameEveryStore: what registers itself for a URL's scheme stands where users and errors look for it: in the
// error of Open, in that of jobs.New as a store that has jobs beside it or has none, in README's table, and among the
// rooms.
func TestDocs_nameEveryStore(t *testing.T) {
	const module = "github.com/lockgen/lockgen/"
	named := rooms(t, read(t, "../docs/architecture.md"))
	stores := registered(t)
	if len(stores) < 5 {
		t.Errorf("only %v register themselves", stores)
	}
	for _, dir := range stores {
		for _, file := range []string{"runtime/open.go", "jobs/open.go"} {
			if !literals(t, "../"+file)[module+dir] {
				t.Errorf("%s does not name %s", file, dir)
			}
		}
		if !named[dir] {
			t.Errorf("docs/architecture.md does not name %s among the rooms", dir)
		}
		rows := storeRows[path.Base(dir)]
		if len(rows) == 0 {
			t.Errorf("%s has no row in README's table of stores: add it there, and to storeRows here", dir)
		}
		for _, row := range rows {
			if !regexp.MustCompile(`(?m)^\| ` + row + ` \|.*\|.*\|.*\|`).MatchString(read(t, "../README.md")) {
				t.Errorf("README's table of stores has no row for %s", row)
			}
		}
	}
}

// registered returns the folders of the packages that call lockrt.Register.
func registered(t *testing.T) (dirs []string) {
	t.Helper()
	err := filepath.WalkDir("../runtime", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		dir := strings.TrimPrefix(path.Dir(filepath.ToSlash(file)), "../")
		if strings.Contains(read(t, file), "lockrt.Register(") && (len(dirs) == 0 || dirs[len(dirs)-1] != dir) {
			dirs = append(dirs, dir)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// literals returns the strings that a Go file has as literals outside its imports.
func literals(t *testing.T, file string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, decl := range parsed.Decls {
		ast.Inspect(decl, func(n ast.Node) bool {
			if _, imports := n.(*ast.ImportSpec); imports {
				return false
			}
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				found[text] = true
			}
			return true
		})
	}
	return found
}
