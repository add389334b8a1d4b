// Command crosscheck type-checks packages for systems other than this one, their tests too: nothing may compile on one
// system only. It reads the sources of all that they import and compiles nothing, so a system costs seconds where go vet
// would build every dependency for it.
//
//	crosscheck [-C dir] GOOS/GOARCH... -- PACKAGES...
//
// It prints what does not type-check, and exits with 1 then, with 2 if the packages cannot be listed.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	dir := flag.String("C", ".", "the folder of the module")
	tests := flag.Bool("tests", true, "tests too")
	flag.Parse()
	systems, patterns := flag.Args(), []string{"./..."}
	if at := slices.Index(systems, "--"); at >= 0 {
		systems, patterns = systems[:at], systems[at+1:]
	}
	root, err := filepath.Abs(*dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crosscheck:", err)
		os.Exit(2)
	}
	code := 0
	for _, system := range systems {
		switch errs, err := check(root, system, *tests, patterns); {
		case err != nil:
			fmt.Fprintf(os.Stderr, "crosscheck: list packages for %s: %v\n", system, err)
			os.Exit(2)
		case len(errs) > 0:
			code = 1
			fmt.Printf("FAIL  %s\n%s\n", system, strings.Join(errs, "\n"))
		default:
			fmt.Println("ok    " + system)
		}
	}
	os.Exit(code)
}

// check returns what is wrong with the packages on a system, each thing once.
func check(root, system string, tests bool, patterns []string) ([]string, error) {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return nil, fmt.Errorf("want GOOS/GOARCH")
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedModule,
		Dir:       root,
		Tests:     tests,
		Env:       append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
		ParseFile: ownBodies(root),
	}, patterns...)
	if err != nil {
		return nil, err
	}
	if len(loaded) == 0 {
		return nil, fmt.Errorf("no packages match %q", patterns)
	}
	var errs []string
	for _, pkg := range loaded {
		if strings.HasSuffix(pkg.PkgPath, ".test") {
			continue // the go command's own, which runs the tests
		}
		for _, err := range pkg.Errors {
			errs = append(errs, err.Error())
		}
	}
	slices.Sort(errs)
	return slices.Compact(errs), nil
}

// ownBodies parses the files under root whole, and the others without the bodies of their functions, whose own users
// check them.
func ownBodies(root string) func(*token.FileSet, string, []byte) (*ast.File, error) {
	return func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
		file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution|parser.ParseComments)
		if file == nil || strings.HasPrefix(name, root+string(filepath.Separator)) {
			return file, err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				f.Body = nil
			}
		}
		return file, err
	}
}
