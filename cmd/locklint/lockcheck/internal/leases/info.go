package leases

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/program"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/summaries"
)

// A Site is a call that hands the caller a lease to release, or locks an object that can be locked.
type Site struct {
	Call    *ssa.Call
	Name    string         // of what is called
	Library clients.Client // whose lease it is

	// Which results are the lease, the error and the flag that say whether there is one; -1 for none. only is true when
	// the call has a single result, which then is the lease itself.
	Lease, Err, OK int
	only           bool
	Null           bool // its only result, the lease, is nil when there is none
	Always         bool // its lease is never nil, also where it stands for none
	Spare          bool // where there is no lease, what it returns in its place may be released
	Optional       bool // keeping the lock until it expires is what the call asks for (NoRenew)
	Closed         bool // the function closes the locker, and that releases what it holds
	Sure           bool // the call returns only with the lock
	Both           bool // there is a lock only where both the error and the flag say so
	Busy           bool // the flag says yes where there is no lock
	AnyError       bool // its error may be any that the library has, also where the program has errors of its own
	Detached       bool // the lease is a function that does not release with the context that it is given
	// tries is the literal that takes the lock, where the call runs one, and into the variable that it puts the lock into,
	// nil if that is a mutex.
	tries *ssa.MakeClosure
	into  *ssa.Alloc

	// For an object that is locked: the object, the value that it was born as if that happened in this function, and how
	// it is reached if it lives in a field or package variable. Only one that was born here is this function's to unlock.
	Recv, made ssa.Value
	field      string // the field of Recv that is called, if that is what locks
	Keyed      bool   // Recv keeps several locks, and the call says which
	at         string
	rounds     *ssa.BasicBlock // the loop that takes it out of a list, see elements.go
}

// hasAnyError reports whether the error of the acquire may be any that the library has.
func (s *Site) hasAnyError() bool {
	m, ok := ssax.MethodOf(&s.Call.Call)
	return s.AnyError || ok && clients.OfPackage(m.Obj.Pkg()) != clients.None
}

// Has reports whether a value is the lease, or the object that is locked.
func (s *Site) Has(v ssa.Value) bool {
	if ex, ok := v.(*ssa.Extract); ok && s.Lease >= 0 {
		return ex.Tuple == s.Call && ex.Index == s.Lease
	}
	return s.only && v == s.Call || s.Recv != nil && v == ssax.SoleValue(s.Recv)
}

// Info knows, for the functions of this package and by facts of others, which hand out leases and what they do
// with those they get. Answers are computed on demand, because they depend on each other.
type Info struct {
	P     *program.Package
	hand  *summaries.Info // the commands of Redis, for locks by hand
	facts map[*ssa.Function]*Fact
	busy  map[*ssa.Function]bool // being computed: recursion is not followed
	Flows []*Flow                // of every site in the package
	// GivenUp are the leases of which nothing is said, because to follow them costs too much.
	GivenUp []GivenUp
	verbs   map[*types.Func]ownVerb
	// flags are what the fields say that the methods of their structs set.
	flags map[*types.Var]says
	// fields are those that hold a method of a library's lock, and nothing else anywhere.
	fields map[*types.Var]ownVerb
	// What is worked out once because it is needed for every lease of a function, and what its leases have cost so far.
	conditions  map[ssa.Value]asked
	askedOf     map[string][]string // the keys of the conditions that ask about a variable, by its route
	subjects    map[*ssa.Function]subjects
	atomics     map[*ssa.Function]*atomicFlags
	changed     map[ssa.Value]bool // outside, by variable
	loose       map[*ssa.Function][]*loose
	alongside   map[*ssa.Function]bool
	writes      map[*ssa.Function][]write
	places      map[*ssa.Function]*places
	roundStarts map[headed]*roundStart
	askedFrom   map[ssa.Value]map[*ssa.BasicBlock]bool
	tested      map[*ssa.Function]map[string]int
	costs       map[*ssa.Function]int
	// wrappers are the libraries of the types of the program, nil while the verbs of their methods are being found.
	wrappers map[*types.TypeName]clients.Client
}

// New looks at all functions of a package.
func New(p *program.Package, hand *summaries.Info) *Info {
	li := &Info{P: p, hand: hand, facts: map[*ssa.Function]*Fact{}, busy: map[*ssa.Function]bool{},
		flags: map[*types.Var]says{}, verbs: map[*types.Func]ownVerb{}, fields: map[*types.Var]ownVerb{}, conditions: map[ssa.Value]asked{},
		askedOf:  map[string][]string{},
		subjects: map[*ssa.Function]subjects{}, places: map[*ssa.Function]*places{}, changed: map[ssa.Value]bool{}, atomics: map[*ssa.Function]*atomicFlags{},
		loose: map[*ssa.Function][]*loose{}, alongside: map[*ssa.Function]bool{}, writes: map[*ssa.Function][]write{},
		roundStarts: map[headed]*roundStart{}, askedFrom: map[ssa.Value]map[*ssa.BasicBlock]bool{},
		tested: map[*ssa.Function]map[string]int{}, costs: map[*ssa.Function]int{}}
	li.findVerbs()
	li.findHandReleases()
	li.findFlags()
	li.wrappers = map[*types.TypeName]clients.Client{}
	for _, fn := range p.Funcs {
		li.FactOf(fn)
	}
	return li
}

// Export tells importing packages what they need to know.
func (li *Info) Export() {
	for fn, f := range li.facts {
		obj, ok := fn.Object().(*types.Func)
		if ok && obj.Pkg() == li.P.Pass.Pkg && (f.Verb != handles.VerbOther || f.Returns > 0 || f.Makes > 0 ||
			f.Locks > 0 || f.Retries > 0 || f.HandsOn || f.Around > 0 || len(f.Takes) > 0 || len(f.Params) > 0 || f.Says != saysNothing) {
			li.P.Pass.ExportObjectFact(obj, f)
			li.P.Carrier = true
		}
	}
	li.exportVerbs()
}

// FactOf returns what a function does with leases; never nil.
func (li *Info) FactOf(fn *ssa.Function) *Fact {
	if o := fn.Origin(); o != nil {
		fn = o
	}
	if f := li.facts[fn]; f != nil {
		return f
	}
	f := new(Fact)
	if fn.Pkg != li.P.Pkg {
		if obj, ok := fn.Object().(*types.Func); ok && obj.Pkg() != nil && clients.OfPackage(obj.Pkg()) == clients.None {
			li.P.Pass.ImportObjectFact(obj, f)
		}
		li.facts[fn] = f
		return f
	}
	if li.busy[fn] {
		return f
	}
	li.busy[fn] = true
	if obj := methodOf(fn); obj != nil {
		v := li.verbs[obj]
		f.Verb, f.Library, f.Detached, f.Guarded = v.verb, v.library, v.detached, v.guarded
		f.NilSafe, f.Both, f.Keyed, f.AnyError = v.nilSafe, v.both, v.keyed, v.anyError
	}
	f.Says = li.methodSays(fn)
	f.Params = li.paramFates(fn)
	f.Makes, f.Locks, f.HandsOn = li.makes(fn), li.locks(fn), li.handsOn(fn)
	f.Retries = li.retries(fn)
	f.Takes = li.takes(fn)
	li.returns(fn, f)
	li.handsOutByHand(fn, f)
	f.Around, f.Under = li.around(fn)
	delete(li.busy, fn)
	li.facts[fn] = f
	return f
}

// paramFates follows each parameter that is a lease.
func (li *Info) paramFates(fn *ssa.Function) map[int]fate {
	var fates map[int]fate
	for i, p := range fn.Params {
		if li.libraryOf(p.Type()) == clients.None || len(fn.Blocks) == 0 {
			continue
		}
		if fates == nil {
			fates = map[int]fate{}
		}
		fates[i] = followParam(li, fn, p)
	}
	return fates
}

// returns follows the leases that a function acquires, and finds out whether it hands one of them to its caller.
func (li *Info) returns(fn *ssa.Function, f *Fact) {
	handed := map[*ssa.Return]int{} // result index plus one
	var flows []*Flow
	library := clients.None
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(*ssa.Call)
			if !ok {
				continue
			}
			if site := li.siteOf(call); site != nil {
				flow := followSite(li, fn, site)
				flows = append(flows, flow)
				for ret, i := range flow.Returned {
					if site.Owned() {
						handed[ret] = i + 1
						library = site.Library
					}
				}
			}
		}
	}
	li.Flows = append(li.Flows, flows...)
	if len(handed) == 0 || fn.Parent() != nil {
		return
	}
	index, null, spare := 0, false, false
	for _, i := range handed {
		if index != 0 && index != i {
			return
		}
		index = i
	}
	for _, b := range fn.Blocks {
		if b == fn.Recover {
			continue // what is returned after a panic, by every function that defers
		}
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		null = null || ok && handed[ret] == 0
		if !ok || handed[ret] != 0 {
			continue
		}
		v := ssax.Returned(ret, index-1)
		spare = spare || doesNothing(v)
		if !ssax.IsNilConst(v) && !doesNothing(v) {
			return // sometimes a lease from elsewhere, which need not be the caller's to release
		}
	}
	if f.Verb == handles.VerbOther {
		f.Library, f.Both = library, false
		f.AnyError = slices.ContainsFunc(flows, func(flow *Flow) bool {
			return len(flow.Returned) > 0 && flow.Site.hasAnyError() && handsOnError(flow.Site)
		})
	}
	f.Detached = f.Detached || f.Verb == handles.VerbOther && li.detaches(handed, index-1)
	f.Null, f.Always, f.Spare = null && fn.Signature.Results().Len() == 1, !null, spare
	findOutcome(f, fn.Signature.Results(), index-1)
	if f.Verb == handles.VerbOther {
		quietOf(fn, index-1, flows, refusedIn(flows)).apply(f)
	}
}

// detaches reports whether what a function hands out, if it is a function, releases with another context than the one that
// it is given.
func (li *Info) detaches(handed map[*ssa.Return]int, lease int) bool {
	for ret := range handed {
		v := ssax.SoleValue(ssax.Returned(ret, lease))
		if mc, ok := v.(*ssa.MakeClosure); ok && li.bindsRelease(mc) {
			if m, ok := mc.Fn.(*ssa.Function).Object().(*types.Func); ok && li.own(m).detached {
				return true
			}
			continue
		}
		lit := ssax.LiteralOf(v)
		if lit == nil {
			continue
		}
		passes := false
		ssax.EachCall(lit, func(call ssa.CallInstruction) {
			passes = passes || li.isReleaseCall(call.Common()) && passesContext(lit, call.Common())
		})
		if !passes {
			return true
		}
	}
	return false
}

// doesNothing reports whether a value is a function without a body, as is handed out where there is nothing to release.
func doesNothing(v ssa.Value) bool {
	fn := ssax.LiteralOf(v)
	return fn != nil && len(fn.Blocks) == 1 && len(fn.Blocks[0].Instrs) == 1
}

// findOutcome finds the result that says whether there is a lease: an error, else a bool, else a pointer or an
// interface that is nil on success. With other results, which may say it in ways that nobody can follow, no fact is
// made.
func findOutcome(f *Fact, results *types.Tuple, lease int) {
	nilable := 0
	for i := range results.Len() {
		switch t := results.At(i).Type(); {
		case i == lease:
		case ssax.IsError(t):
			f.Err = i + 1
		case ssax.IsBool(t):
			f.OK = i + 1
		case types.IsInterface(t):
			nilable = i + 1
		default:
			if _, ok := t.Underlying().(*types.Pointer); ok {
				nilable = i + 1
			}
		}
	}
	if f.Err == 0 && f.OK == 0 {
		f.Err = nilable
	}
	if f.Err > 0 || f.OK > 0 || results.Len() == 1 {
		f.Returns = lease + 1
	}
}
