package leases

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Some types of a program hold a mutex of a library without methods of their own for it:
//
//	type Job struct { *redsync.Mutex; name string }
//
//	func newJob(rs *redsync.Redsync, name string) *Job { return &Job{rs.NewMutex(name), name} }
//
// Who makes such an object has the mutex, too, until it hands the object on.

// holds reports whether a type points to a struct of the program that holds one mutex of a library.
func holds(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok || handles.Library(t) != clients.None {
		return false
	}
	st, ok := p.Elem().Underlying().(*types.Struct)
	if !ok {
		return false
	}
	n := 0
	for f := range st.Fields() {
		if clients.HasMutex(handles.Library(f.Type())) {
			n++
		}
	}
	return n == 1
}

// holderOf is the object from whose field a mutex is read, nil for none.
func holderOf(v ssa.Value) ssa.Value {
	load, ok := v.(*ssa.UnOp)
	if !ok || load.Op != token.MUL || !clients.HasMutex(handles.Library(load.Type())) {
		return nil
	}
	field, ok := load.X.(*ssa.FieldAddr)
	if !ok || !holds(field.X.Type()) {
		return nil
	}
	return ssax.SoleValue(field.X)
}
