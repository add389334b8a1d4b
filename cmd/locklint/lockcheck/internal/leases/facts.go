package leases

import (
	"fmt"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
)

// A Fact says how a function deals with leases, also the locks of other libraries.
type Fact struct {
	// Returns is one more than the index of the result that is a lease which the caller must release, 0 if there is none.
	Returns int
	Err, OK int          // one more than the index of the result that says whether there is a lease, 0 for none
	Params  map[int]fate // of each lease parameter, the receiver counted
	// Makes is one more than the index of the result that is a new mutex, not locked yet; 0 if there is none.
	Makes int
	// Locks is one more than the index of the parameter that is a mutex which the function locks, 0 if there is none.
	Locks int
	// Retries is one more than the index of the parameter that it runs until that has no error, 0 if there is none.
	Retries int
	// HandsOn: it releases a lock among its parameters with the context that is the first of them.
	HandsOn bool
	// Null: Returns is the only result, and nil when there is no lease.
	Null   bool
	Always bool    // Returns is never nil, also where it stands for no lease
	Spare  bool    // Returns is a function that does nothing when there is no lease
	Takes  []Taken // whenever it is called
	// Around is one more than the index of the parameter, the receiver counted, that it runs under a lock of the library
	// Under, 0 if there is none. The lock is gone when it returns.
	Around int
	Under  clients.Client

	// Verb is what a method does with the lock in its receiver, which is one of Library. Detached: it does not release
	// with the context that it is given; nor does the function that Returns is, if it is no verb. Library also says whose
	// lock Returns is, where its type does not.
	Verb     handles.Verb
	Library  clients.Client
	Detached bool
	Guarded  bool // it releases nothing where nothing is there to release
	NilSafe  bool // it may be called on nil
	Both     bool // there is a lock only where both its error and its flag say so, or the lock itself if it has no flag
	Busy     bool // its flag says yes where there is no lock
	Vague    bool // another result than these may say whether there is a lock
	Keyed    bool // its receiver keeps several locks, and it is told which
	AnyError bool // it hands on any error of the library, not only errors of its own
	Says     says // what its only result says of the lock in its receiver
}

// AFact marks the type.
func (*Fact) AFact() {}

func (f *Fact) String() string {
	if f.Verb != handles.VerbOther {
		return fmt.Sprintf("lease(verb=%d)", f.Verb)
	}
	return fmt.Sprintf("lease(returns=%d params=%v)", f.Returns, f.Params)
}

// A fate is what a function does with a lease that it is given.
type fate uint8

const (
	fateUnknown  fate = iota // released on some paths, kept, or not to be followed
	fateReleased             // released on every path
	fateGuarded              // the same, and nothing is released where nothing is there to release
	fateBorrowed             // used, and left to the caller on every path
)
