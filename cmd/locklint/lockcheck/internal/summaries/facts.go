package summaries

import (
	"go/types"
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
)

// What one package tells another. Facts are gob-encoded, so every field is exported; a field may be added, because a
// changed tool invalidates all cached facts, but nothing may depend on facts being complete: a package that was not
// analysed has none.

// A Fact says which commands a function issues on keys that its caller chooses or that are the same in every
// package, and whether it issues what its caller names.
type Fact struct {
	Commands []Command
	Forward  *rediscmd.Forward
}

// A Command is one command of a function's summary. Its key and time to live speak of the function's
// parameters.
type Command struct {
	Op       ops.Op
	Name     string
	Key      keyexpr.Expr
	Value    keyexpr.Expr
	TTL      keyexpr.Expr
	Unit     time.Duration
	Pipe     rediscmd.Pipe
	Compares bool
	Ended    bool // see rediscmd.Command
	Leased   bool
	HandsOn  bool // what releases it, which the function returns, does so with the context that it is given
	Forced   bool
	Guarded  bool
	Waits    bool // the function may wait, for whatever reason
	Detached bool // the function does not issue it with the context that it is given
	Judged   bool // part of a lock that its own package has reported
	Outcome  int  // for an acquire: which result says whether it succeeded, -1 unknown
	ByError  bool // Outcome is an error, nil for success

	origin *rediscmd.Command // within the package; does not travel
}

// NoTTL reports whether an acquire certainly sets no expiry; see rediscmd.Command.
func (c Command) NoTTL() bool { return (&rediscmd.Command{TTL: c.TTL}).NoTTL() }

// AFact marks the type.
func (*Fact) AFact() {}

// says reports whether a fact says anything.
func (f *Fact) says() bool { return len(f.Commands) > 0 || f.Forward != nil }

func (f *Fact) String() string {
	var names []string
	for _, c := range f.Commands {
		names = append(names, c.Name+" "+c.Key.String())
	}
	return "redis(" + strings.Join(names, "; ") + ")"
}

// exportInterfaces tells importers about methods of interfaces what they are told about their implementation.
func (ix *Info) exportInterfaces() {
	scope := ix.Pass.Pkg.Scope()
	for _, name := range scope.Names() {
		tn, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || tn.IsAlias() {
			continue
		}
		iface, ok := tn.Type().Underlying().(*types.Interface)
		if !ok {
			continue
		}
		for m := range iface.ExplicitMethods() {
			impl := ix.Implementation(m)
			if impl == nil || impl == m {
				continue
			}
			if f := (Fact{slices.Clone(ix.summaryOf(impl)), ix.forwardOf(impl)}); f.says() {
				ix.Pass.ExportObjectFact(m, &f)
				ix.Carrier = true
			}
		}
	}
}
