package program

import (
	"go/types"
	"regexp"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
)

// A NeverReturns stands on a function that ends the program or the goroutine.
type NeverReturns struct{}

// AFact marks the type.
func (*NeverReturns) AFact() {}

func (*NeverReturns) String() string { return "never returns" }

// Which functions never return matters to every path: behind log.Fatal no lease is left held.
//
// ctrlflow.Analyzer finds them by their bodies and tells importers with facts. As a requirement it would run on every
// package and, for its facts, on the source of every dependency down to the runtime. So it is run by hand, only on
// packages that get SSA form, and what ends the program or the goroutine in the standard library and in well-known
// libraries stands in a table instead. Loggers of other modules are known by their methods' names: who calls Fatal or
// Panic does not mean to go on.

// neverReturn has the names of functions and methods by package; "Type.Name" for a method.
var neverReturn = map[string][]string{
	"log": {"Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln",
		"Logger.Fatal", "Logger.Fatalf", "Logger.Fatalln", "Logger.Panic", "Logger.Panicf", "Logger.Panicln"},
	"os":      {"Exit"},
	"syscall": {"Exit", "ExitProcess"},
	"runtime": {"Goexit"},
	"testing": {"common.Fatal", "common.Fatalf", "common.FailNow", "common.Skip", "common.Skipf", "common.SkipNow",
		"TB.Fatal", "TB.Fatalf", "TB.FailNow", "TB.Skip", "TB.Skipf", "TB.SkipNow"},
	"github.com/sirupsen/logrus": {"Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln", "Exit",
		"Logger.Fatal", "Logger.Fatalf", "Logger.Fatalln", "Logger.Panic", "Logger.Panicf", "Logger.Panicln", "Logger.Exit",
		"Entry.Fatal", "Entry.Fatalf", "Entry.Fatalln", "Entry.Panic", "Entry.Panicf", "Entry.Panicln"},
	"go.uber.org/zap": {"Logger.Fatal", "Logger.Panic",
		"SugaredLogger.Fatal", "SugaredLogger.Fatalf", "SugaredLogger.Fatalln", "SugaredLogger.Fatalw",
		"SugaredLogger.Panic", "SugaredLogger.Panicf", "SugaredLogger.Panicln", "SugaredLogger.Panicw"},
	"k8s.io/klog":               klogExits,
	"k8s.io/klog/v2":            klogExits,
	"github.com/golang/glog":    klogExits,
	"github.com/onsi/ginkgo":    {"Fail", "Skip"},
	"github.com/onsi/ginkgo/v2": {"Fail", "Skip", "AbortSuite"},
}

var klogExits = []string{"Fatal", "Fatalf", "Fatalln", "FatalDepth", "FatalDepthf",
	"Exit", "Exitf", "Exitln", "ExitDepth", "ExitDepthf"}

// EndsByName reports whether a function has the name and the results of what ends the program or the goroutine in loggers.
func EndsByName(fn *types.Func) bool {
	return endsByName.MatchString(fn.Name()) && fn.Signature().Results().Len() == 0
}

var endsByName = regexp.MustCompile(`^(Log)?(Fatal|Panic)(f|ln|w|Depth|Context|Ctx|Contextf|Ctxf)?$`)

// neverReturns reports whether a function of another module never returns, by the table or by its name. Functions of the
// package's own module are judged by their bodies.
func (ix *Package) neverReturns(fn *types.Func) bool {
	return knownNeverReturns(fn) ||
		EndsByName(fn) && fn.Pkg() != nil && fn.Pkg() != ix.Pass.Pkg && !ix.inModule(fn.Pkg())
}

// knownNeverReturns looks a function up in the table.
func knownNeverReturns(fn *types.Func) bool {
	if fn.Pkg() == nil {
		return false
	}
	names := neverReturn[clients.WithoutVendor(fn.Pkg().Path())]
	if names == nil {
		return false
	}
	name := fn.Name()
	if recv := fn.Signature().Recv(); recv != nil {
		t := recv.Type()
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		n, ok := t.(*types.Named)
		if !ok {
			return false
		}
		name = n.Obj().Name() + "." + name
	}
	return slices.Contains(names, name)
}

// NoReturn finds out which of the functions that the package declares or calls never return, and tells its importers.
// The fact is one of our own: no two analyzers of a driver may share a type, and others run ctrlflow, too.
func (ix *Package) NoReturn() func(*types.Func) bool {
	sub := *ix.Pass
	sub.Analyzer = ctrlflow.Analyzer
	sub.ResultOf = map[*analysis.Analyzer]any{inspect.Analyzer: inspector.New(sub.Files)}
	sub.ImportObjectFact = func(obj types.Object, _ analysis.Fact) bool {
		if fn, ok := obj.(*types.Func); ok && ix.neverReturns(fn) {
			return true
		}
		return ix.Pass.ImportObjectFact(obj, new(NeverReturns))
	}
	sub.ExportObjectFact = func(obj types.Object, _ analysis.Fact) {
		ix.Pass.ExportObjectFact(obj, new(NeverReturns))
	}
	res, err := ctrlflow.Analyzer.Run(&sub)
	if err != nil {
		return ix.neverReturns
	}
	return res.(*ctrlflow.CFGs).NoReturn
}

// MayExit reports whether the package may declare a function that never returns and that a package with locks calls.
// Only packages that the user works on are asked: those of other modules are not worth looking at for this alone.
func (ix *Package) MayExit() bool {
	if ix.Pass.Module == nil || ix.Pass.Module.Version != "" || ix.Pass.Pkg.Name() == "main" {
		return false
	}
	for _, obj := range ix.Pass.TypesInfo.Uses {
		if fn, ok := obj.(*types.Func); ok && knownNeverReturns(fn) && !inPackage(fn, "testing") {
			return true
		}
	}
	return false
}

func inPackage(fn *types.Func, path string) bool { return fn.Pkg() != nil && fn.Pkg().Path() == path }
