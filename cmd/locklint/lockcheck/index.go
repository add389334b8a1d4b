package lockcheck

import (
	"go/types"
	"reflect"
	"sync"

	"golang.org/x/tools/go/analysis"
)

// indexAnalyzer gathers, once for each package, what the checks share: SSA form, the Redis commands of each function,
// the locks they make up, what happens to leases, and which functions are guarded. It alone owns facts, so that a
// check is a matter of reading the index and reporting.
var indexAnalyzer = &analysis.Analyzer{
	Name:       "lockindex",
	Doc:        "gather locks, leases and directives for the other analyzers of locklint",
	URL:        docsURL,
	Run:        runIndex,
	ResultType: reflect.TypeFor[*index](),
	FactTypes:  factTypes,
}

// An index is what indexAnalyzer found. In a package without any lock everything is empty.
type index struct {
	*lockSet
	*directives
	leases   *leaseInfo
	sections func() []*critical // computed once: the checks run in parallel
}

func runIndex(pass *analysis.Pass) (any, error) {
	p := &program{pass: pass, impls: map[*types.Func]*types.Func{}}
	ix := &index{lockSet: &lockSet{summaries: newSummaries(p)}, directives: newDirectives(p)}
	ix.sections = sync.OnceValue(ix.findCriticals)
	if clientOf(pass.Pkg.Path()) != notClient {
		return ix, nil // a client's own code is not for us to judge, and its methods are known by name
	}
	ix.findGuarded()
	switch {
	case ix.touchesClient():
		if !ix.analyze() {
			ix.pkg, ix.funcs, ix.commands, ix.leases = nil, nil, nil, nil
			ix.locks, ix.renewals, ix.counters = nil, nil, nil
		}
	case ix.mayExit():
		ix.noReturn() // for its facts
	}
	if ix.carrier {
		pass.ExportPackageFact(new(carrierFact))
	}
	return ix, nil
}

// analyze runs the steps that need SSA form. Code that they cannot digest, most likely code that go/ssa cannot
// digest, costs its package the findings, not the user the whole run.
func (ix *index) analyze() (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			OnPanic(r)
			ok = false
		}
	}()
	ix.buildSSA()
	ix.collectCommands()
	ix.findLocks()
	ix.findRenewals()
	ix.findCounters()
	ix.exportSummaries()
	ix.leases = newLeaseInfo(ix.program)
	ix.leases.export()
	return true
}

// OnPanic is told what the analyzers have recovered from: code that they cannot digest costs its package the findings,
// not the user the whole run. A driver may replace it before they run, to say that something is missing. It is called
// by several goroutines at once.
var OnPanic = func(any) {}

// touchesClient reports whether the package can contain a lock at all: it imports a client, calls a method of one or a
// function about which there is a fact, or has an interface of its own for a client. Everything below costs far more
// than this.
func (ix *index) touchesClient() bool {
	for _, imp := range ix.pass.Pkg.Imports() {
		if clientOf(imp.Path()) != notClient {
			return true
		}
	}
	return ix.callsClient(ix.hasCarriers()) || declaresSetNX(ix.pass.Pkg)
}

// callsClient reports whether the package mentions a client's method, as of another package's variable, or a function
// of another that has a fact.
func (ix *index) callsClient(carriers bool) bool {
	clients := map[*types.Package]bool{}
	for _, obj := range ix.pass.TypesInfo.Uses {
		fn, ok := obj.(*types.Func)
		if !ok || fn.Pkg() == nil || fn.Pkg() == ix.pass.Pkg {
			continue
		}
		isClient, known := clients[fn.Pkg()]
		if !known {
			isClient = clientOfPackage(fn.Pkg()) != notClient
			clients[fn.Pkg()] = isClient
		}
		fn = fn.Origin()
		if isClient || carriers && (ix.pass.ImportObjectFact(fn, new(summaryFact)) ||
			ix.pass.ImportObjectFact(fn, new(leaseFact))) {
			return true
		}
	}
	return false
}

// declaresSetNX reports whether the package has an interface over a Redis client: it may not import the client.
func declaresSetNX(pkg *types.Package) bool {
	for _, name := range pkg.Scope().Names() {
		if tn, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok && hasSetNX(tn.Type()) {
			return true
		}
	}
	return false
}
