// Package index gathers about a package, once, what the checks share.
package index

import (
	"fmt"
	"go/types"
	"reflect"
	"sync"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/docs"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/guards"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/locks"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/program"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/summaries"
)

var factTypes = []analysis.Fact{new(summaries.Fact), new(leases.Fact), new(guards.Fact), new(program.Carrier),
	new(program.NeverReturns), new(guards.Fenced), new(guards.Keys)}

// Analyzer gathers, once for each package, what the checks share: SSA form, the Redis commands of each function,
// the locks they make up, what happens to leases, and which functions are guarded. It alone owns facts, so that a
// check is a matter of reading the index and reporting.
var Analyzer = &analysis.Analyzer{
	Name:       "lockindex",
	Doc:        "gather locks, leases and directives for the other analyzers of locklint",
	URL:        docs.Checks,
	Run:        run,
	ResultType: reflect.TypeFor[*Index](),
	FactTypes:  factTypes,
}

// An Index is what Analyzer found. In a package without any lock everything is empty.
type Index struct {
	*locks.Set
	*guards.Directives
	Leases   *leases.Info
	Sections func() []*sections.Section // computed once: the checks run in parallel
}

func run(pass *analysis.Pass) (any, error) {
	p := &program.Package{Pass: pass, Impls: map[*types.Func]*types.Func{}}
	ix := &Index{Set: &locks.Set{Info: summaries.New(p)}, Directives: guards.New(p)}
	ix.Sections = sync.OnceValue(func() []*sections.Section { return sections.FindCriticals(ix.Leases, ix.Directives) })
	if clients.Of(pass.Pkg.Path()) != clients.None {
		return ix, nil // a client's own code is not for us to judge, and its methods are known by name
	}
	ix.FindGuarded()
	switch {
	case ix.touchesClient():
		if !ix.analyze() {
			ix.Pkg, ix.Funcs, ix.Shipped, ix.Commands, ix.Leases = nil, nil, nil, nil, nil
			ix.Locks, ix.Renewals, ix.Counters, ix.Semaphores = nil, nil, nil, nil
		}
	case ix.MayExit():
		ix.NoReturn() // for its facts
	}
	if ix.Carrier {
		pass.ExportPackageFact(new(program.Carrier))
	}
	return ix, nil
}

// analyze runs the steps that need SSA form. Code that they cannot digest, most likely code that go/ssa cannot
// digest, costs its package the findings, not the user the whole run.
func (ix *Index) analyze() (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			program.OnPanic(r)
			ok = false
		}
	}()
	ix.BuildSSA()
	ix.CollectCommands()
	ix.FindLocks()
	ix.FindRenewals()
	ix.FindCounters()
	ix.FindSemaphores()
	ix.Export()
	ix.Leases = leases.New(ix.Package, ix.Info)
	ix.Leases.Export()
	for _, g := range ix.Leases.GivenUp {
		where := ssax.CalleeShort(ssax.Outermost(g.Fn))
		program.OnGivenUp(ix.Pass.Fset.Position(g.Pos), fmt.Sprintf("%s in %s", g.What, where))
	}
	return true
}

// touchesClient reports whether the package can contain a lock at all: it imports a client, calls a method of one or a
// function about which there is a fact, or has an interface of its own for a client. Everything below costs far more
// than this.
func (ix *Index) touchesClient() bool {
	for _, imp := range ix.Pass.Pkg.Imports() {
		if clients.Of(imp.Path()) != clients.None {
			return true
		}
	}
	return ix.callsClient(ix.HasCarriers()) || declaresInterface(ix.Pass.Pkg)
}

// callsClient reports whether the package mentions a client's method, as of another package's variable, or a function
// of another that has a fact.
func (ix *Index) callsClient(carriers bool) bool {
	known, asked := map[*types.Package]bool{}, map[types.Type]bool{}
	for _, obj := range ix.Pass.TypesInfo.Uses {
		fn, ok := obj.(*types.Func)
		if !ok || fn.Pkg() == nil {
			continue
		}
		if fn.Pkg() == ix.Pass.Pkg {
			impl := ix.Implementation(fn)
			if !program.IsInterface(fn) || impl != nil && impl.Pkg() == ix.Pass.Pkg {
				continue
			}
			if impl != nil {
				fn = impl
			}
		}
		isClient, seen := known[fn.Pkg()]
		if !seen {
			isClient = clients.OfPackage(fn.Pkg()) != clients.None
			known[fn.Pkg()] = isClient
		}
		if recv := fn.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) && !asked[recv.Type()] {
			if rediscmd.HasSetNX(recv.Type()) || handles.IsPort(recv.Type()) {
				return true // a method of an interface over a client or a lock, declared elsewhere
			}
			asked[recv.Type()] = true
		}
		fn = fn.Origin()
		if isClient || carriers && (ix.Pass.ImportObjectFact(fn, new(summaries.Fact)) ||
			ix.Pass.ImportObjectFact(fn, new(leases.Fact))) {
			return true
		}
	}
	return false
}

// declaresInterface reports whether the package has an interface over a Redis client or a library's mutex: it may not
// import either.
func declaresInterface(pkg *types.Package) bool {
	for _, name := range pkg.Scope().Names() {
		if tn, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok &&
			(rediscmd.HasSetNX(tn.Type()) || handles.IsPort(tn.Type())) {
			return true
		}
	}
	return false
}
