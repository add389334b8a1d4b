package program

import "go/token"

// A Carrier stands on packages whose functions have facts, so that the others are ruled out at a glance.
type Carrier struct{}

// AFact marks the type.
func (*Carrier) AFact() {}

func (*Carrier) String() string { return "carrier" }

// OnPanic is told what the analyzers have recovered from. It is called by several goroutines at once.
var OnPanic = func(any) {}

// OnGivenUp is told what was not looked at to the end because that costs too much: where, and what it is. It is
// called by several goroutines at once.
var OnGivenUp = func(at token.Position, what string) {}
