package jobs

import (
	"fmt"
	"reflect"
	"sync"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// StoreFunc returns the store of jobs for a Locker: in the same place as its locks, under its namespace. It contacts
// nothing. It returns nil, and no error, if the locks are in a store of another kind.
type StoreFunc func(locks *lockrt.Locker) (Store, error)

var (
	storesMu sync.Mutex
	stores   []StoreFunc
)

// RegisterStore makes a kind of store available to [New], for schedulers without Config.Store. Packages of stores call
// it from init.
func RegisterStore(beside StoreFunc) {
	storesMu.Lock()
	defer storesMu.Unlock()
	stores = append(stores, beside)
}

// storeImports tells a user of New which import is missing, by the package of the store of locks.
var storeImports = map[string]string{
	"github.com/lockgen/lockgen/runtime/memstore":   "github.com/lockgen/lockgen/jobs/memstore",
	"github.com/lockgen/lockgen/runtime/redisstore": "github.com/lockgen/lockgen/jobs/redisstore",
	"github.com/lockgen/lockgen/runtime/sqlstore":   "github.com/lockgen/lockgen/jobs/sqlstore",
}

// noStores tells a user of New why a kind of store of locks has no store of jobs beside it.
var noStores = map[string]string{
	"github.com/lockgen/lockgen/runtime/etcdstore": "etcd keeps every version of every record until it is compacted, " +
		"and takes no writes, and so no locks, when its quota is full",
	"github.com/lockgen/lockgen/runtime/zkstore": "ZooKeeper keeps everything in memory, and takes " +
		"a megabyte in a request",
}

// storeBeside returns the store that matches where the locks are.
func storeBeside(locks *lockrt.Locker) (Store, error) {
	storesMu.Lock()
	known := stores
	storesMu.Unlock()
	for _, beside := range known {
		if store, err := beside(locks); store != nil || err != nil {
			return store, err
		}
	}
	kind := reflect.TypeOf(locks.Store())
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if path := storeImports[kind.PkgPath()]; path != "" {
		return nil, fmt.Errorf("no store of jobs is registered for locks in a %T; add import _ %q, or set Config.Store",
			locks.Store(), path)
	}
	if why := noStores[kind.PkgPath()]; why != "" {
		return nil, fmt.Errorf("there is no store of jobs for locks in a %T: %s; keep the jobs in Redis or a database: set "+
			"Config.Store, to that of jobs/redisstore or jobs/sqlstore for example", locks.Store(), why)
	}
	return nil, fmt.Errorf("no store of jobs is registered for locks in a %T; set Config.Store", locks.Store())
}
