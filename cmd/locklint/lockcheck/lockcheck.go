package lockcheck

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/checks"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/checks/ll1015"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/links"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/program"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/suppress"
)

// A Check is one entry of the catalogue.
type Check = check.Check

// A Severity says how sure a finding breaks mutual exclusion.
type Severity = check.Severity

// The severities, in falling order.
const (
	Error   = check.Error
	Warning = check.Warning
	Info    = check.Info
)

// A Result is what a check's analyzer returns: its findings with what a diagnostic has no place for.
type Result = check.Result

// A Finding is a diagnostic of a check. One that a comment silences is not reported as a diagnostic.
type Finding = check.Finding

// A Silence says which comment silences a finding and why.
type Silence = suppress.Silence

// Checks is the catalogue in the order of the IDs.
var Checks = catalogue()

func catalogue() []*Check {
	ll1015.Watch(checks.All)
	return checks.All
}

// Analyzers are the analyzers of the checks that are on by default, for drivers of their own. They suppress what
// //locklint:ignore and //nolint:locklint comments silence.
var Analyzers = analyzers()

func analyzers() []*analysis.Analyzer {
	var list []*analysis.Analyzer
	for _, c := range Checks {
		if !c.Off {
			list = append(list, c.Analyzer)
		}
	}
	return list
}

// Lookup returns the check with an ID, nil if there is none. Case does not matter.
func Lookup(id string) *Check {
	for _, c := range Checks {
		if strings.EqualFold(c.ID, id) {
			return c
		}
	}
	return nil
}

// OnPanic is told what the analyzers have recovered from: code that they cannot digest costs its package the findings,
// not the user the whole run. A driver may replace it before they run, to say that something is missing. It is called
// by several goroutines at once.
var OnPanic = func(any) {}

// OnGivenUp is told which locks the analyzers have not followed to the end, and where: so many ways lead through their
// functions that it would cost too much. Nothing is found about them. A driver may replace it before they run. It is
// called by several goroutines at once, also about packages that are looked at only for what they tell their importers.
var OnGivenUp = func(at token.Position, what string) {}

func init() {
	program.OnPanic = func(recovered any) { OnPanic(recovered) }
	program.OnGivenUp = func(at token.Position, what string) { OnGivenUp(at, what) }
}

// Relevant reports whether a package can have findings or facts by itself, from the text of its files by name. What it
// calls irrelevant has none, provided that none of its dependencies is a carrier (see [Carries]).
func Relevant(module *analysis.Module, files map[string][]byte) bool {
	return index.Relevant(module, files)
}

// Carries reports whether a fact makes its package a carrier: the packages that import it, even through others, may
// have findings because of it.
func Carries(fact analysis.Fact) bool { return index.Carries(fact) }

// Carrier is the fact that makes its package a carrier.
func Carrier() analysis.Fact { return new(program.Carrier) }

// TellsCaller reports whether a fact about a method says what a call through an interface does, see [Links].
func TellsCaller(fact analysis.Fact) bool { return links.Tells(fact) }

// Links returns the methods behind methods of interfaces, of all packages of a program, with types that they share. Only
// methods that tell something count; see [TellsCaller]. Interfaces and what implements them are found without it where
// one of their packages imports the other.
func Links(pkgs []*types.Package, tells func(*types.Func) bool) map[*types.Func]*types.Func {
	return links.Find(pkgs, tells)
}
