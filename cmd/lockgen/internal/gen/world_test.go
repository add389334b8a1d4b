package gen

import (
	"go/ast"
	goimporter "go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// world is what fuzzed sources may import: compiled once, so that judging one takes no go command.
var world = sync.OnceValue(func() map[string]*types.Package {
	conf := &packages.Config{Mode: packages.NeedName | packages.NeedExportFile | packages.NeedDeps | packages.NeedImports}
	roots, err := packages.Load(conf, "context", "errors", "fmt", "io", "time", "strings", "sync", "cmp", "net/netip",
		directive.RuntimePath, "github.com/lockgen/lockgen/jobs")
	if err != nil {
		panic(err)
	}
	files := map[string]string{}
	packages.Visit(roots, nil, func(p *packages.Package) { files[p.PkgPath] = p.ExportFile })
	load := goimporter.ForCompiler(token.NewFileSet(), "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	all := map[string]*types.Package{"unsafe": types.Unsafe}
	for _, root := range roots {
		if all[root.PkgPath], err = load.Import(root.PkgPath); err != nil {
			panic(err)
		}
	}
	fset := token.NewFileSet()
	probe, err := parser.ParseFile(fset, "probe.go", `package probe
import lockrt "github.com/lockgen/lockgen/runtime"
func Run(...any) {}
func Err() error { return nil }
var Locks *lockrt.Locker`, 0)
	if err != nil {
		panic(err)
	}
	conf2 := types.Config{Importer: known(all)}
	if all["example.com/app/probe"], err = conf2.Check("example.com/app/probe", fset, []*ast.File{probe},
		nil); err != nil {
		panic(err)
	}
	return all
})

// known imports what is there.
type known map[string]*types.Package

func (k known) Import(path string) (*types.Package, error) {
	if p := k[path]; p != nil {
		return p, nil
	}
	return nil, os.ErrNotExist
}
