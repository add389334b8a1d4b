package lockcheck

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/tools/go/analysis"
)

// What one package tells another. Facts are gob-encoded, so every field is exported; a field may be added, because a
// changed tool invalidates all cached facts, but nothing may depend on facts being complete: a package that was not
// analysed has none.

// A summaryFact says which commands a function issues on keys that its caller chooses or that are the same in every
// package.
type summaryFact struct{ Commands []summaryCommand }

// A summaryCommand is one command of a function's summary. Its key and time to live speak of the function's
// parameters.
type summaryCommand struct {
	Op       op
	Name     string
	Key      keyExpr
	Value    keyExpr
	TTL      keyExpr
	Unit     time.Duration
	Pipe     pipe
	Compares bool
	Waits    bool // the function may wait, for whatever reason
	Judged   bool // part of a lock that its own package has reported
	Outcome  int  // for an acquire: which result says whether it succeeded, -1 unknown

	origin *command // within the package; does not travel
}

// AFact marks the type.
func (*summaryFact) AFact() {}

func (f *summaryFact) String() string {
	var names []string
	for _, c := range f.Commands {
		names = append(names, c.Name+" "+c.Key.String())
	}
	return "redis(" + strings.Join(names, "; ") + ")"
}

// A leaseFact says how a function deals with leases, also the locks of other libraries.
type leaseFact struct {
	// Returns is one more than the index of the result that is a lease which the caller must release, 0 if there is none.
	Returns int
	Err, OK int          // one more than the index of the result that says whether there is a lease, 0 for none
	Params  map[int]fate // of each lease parameter, the receiver counted
	// Makes is one more than the index of the result that is a new mutex, not locked yet; 0 if there is none.
	Makes int
	Takes []takenLock // whenever it is called
}

// AFact marks the type.
func (*leaseFact) AFact() {}

func (f *leaseFact) String() string {
	return fmt.Sprintf("lease(returns=%d params=%v)", f.Returns, f.Params)
}

// A fate is what a function does with a lease that it is given.
type fate uint8

const (
	fateUnknown  fate = iota // released on some paths, kept, or not to be followed
	fateReleased             // released on every path
	fateBorrowed             // used, and left to the caller on every path
)

// A guardedFact stands on a function with a //lock: directive.
type guardedFact struct {
	Wrapper string // what to call instead
}

// AFact marks the type.
func (*guardedFact) AFact() {}

func (f *guardedFact) String() string { return "guarded(" + f.Wrapper + ")" }

// A fencedFact stands on a function with a //lock:fenced mark.
type fencedFact struct{}

// AFact marks the type.
func (*fencedFact) AFact() {}

func (*fencedFact) String() string { return "fenced" }

// A neverReturnsFact stands on a function that ends the program or the goroutine.
type neverReturnsFact struct{}

// AFact marks the type.
func (*neverReturnsFact) AFact() {}

func (*neverReturnsFact) String() string { return "never returns" }

// A carrierFact stands on packages that have one of the facts above, so that the others are ruled out at a glance.
type carrierFact struct{}

// AFact marks the type.
func (*carrierFact) AFact() {}

func (*carrierFact) String() string { return "carrier" }

var factTypes = []analysis.Fact{new(summaryFact), new(leaseFact), new(guardedFact), new(carrierFact),
	new(neverReturnsFact), new(fencedFact)}
