// Package memstore keeps jobs in the memory of this process, for programs with one process and for tests. Schedulers
// that share a store share their jobs. All data is lost when the process ends.
//
// Importing the package makes it the default of jobs.Config.Store for locks in a runtime/memstore, which it imports as
// well: Lockers that share their store of locks and their namespace share their jobs.
package memstore

import (
	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
	_ "github.com/lockgen/lockgen/runtime/memstore"
)

func init() { jobs.RegisterStore(beside) }

// valuer is a store of locks that keeps things for others.
type valuer interface {
	Value(key any, mk func() any) any
}

func beside(locks *lockrt.Locker) (jobs.Store, error) {
	type key struct{ namespace string }
	at, ok := locks.Store().(valuer)
	if !ok {
		return nil, nil
	}
	return at.Value(key{locks.Namespace()}, func() any { return New() }).(jobs.Store), nil
}
