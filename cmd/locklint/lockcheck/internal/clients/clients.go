// Package clients knows the libraries whose calls the checks understand, by their import paths.
package clients

import (
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// A Client is a library whose calls the checks understand.
type Client uint8

const (
	None        Client = iota
	GoRedis            // any version of go-redis
	Redigo             // redigo under any of its homes
	Rueidis            // rueidis and its command builder
	GoFrame            // GoFrame's gredis
	GoZero             // go-zero's client, which wraps go-redis, and its RedisLock
	Runtime            // the runtime of this project
	Redsync            // any version of redsync
	Redislock          // bsm/redislock
	Rueidislock        // rueidislock, and valkeylock, which is the same
	Etcd               // the recipes of etcd's client
	ZooKeeper          // go-zookeeper
	Consul             // Consul's client
	ByHand             // no library: the program takes the lock with commands of Redis
)

// HandsOutLocks reports whether a library is one of locks, this project's among them, rather than a client of Redis.
func (c Client) HandsOutLocks() bool { return c == Runtime || IsPeer(c) && c != GoZero && c != ByHand }

// paths are the import paths of the clients.
var paths = map[string]Client{
	"github.com/go-redis/redis":    GoRedis,
	"github.com/go-redis/redis/v7": GoRedis,
	"github.com/go-redis/redis/v8": GoRedis,
	"github.com/go-redis/redis/v9": GoRedis,
	"github.com/redis/go-redis/v9": GoRedis,
	"gopkg.in/redis.v3":            GoRedis,
	"gopkg.in/redis.v4":            GoRedis,
	"gopkg.in/redis.v5":            GoRedis,

	"github.com/redis/rueidis/rueidiscompat": GoRedis, // rueidis behind go-redis's methods

	"github.com/gomodule/redigo/redis": Redigo,
	"github.com/garyburd/redigo/redis": Redigo,

	"github.com/redis/rueidis":                Rueidis,
	"github.com/redis/rueidis/internal/cmds":  Rueidis,
	"github.com/rueian/rueidis":               Rueidis,
	"github.com/rueian/rueidis/internal/cmds": Rueidis,

	"github.com/valkey-io/valkey-go":               Rueidis, // the same under another name
	"github.com/valkey-io/valkey-go/internal/cmds": Rueidis,
	"github.com/valkey-io/valkey-go/valkeycompat":  GoRedis,

	"github.com/gogf/gf/v2/database/gredis": GoFrame,
	"github.com/gogf/gf/database/gredis":    GoFrame,

	"github.com/zeromicro/go-zero/core/stores/redis": GoZero,
	"github.com/tal-tech/go-zero/core/stores/redis":  GoZero,

	directive.RuntimePath: Runtime,

	"github.com/go-redsync/redsync":         Redsync,
	"github.com/go-redsync/redsync/v2":      Redsync,
	"github.com/go-redsync/redsync/v3":      Redsync,
	"github.com/go-redsync/redsync/v4":      Redsync,
	"gopkg.in/redsync.v1":                   Redsync,
	"github.com/hjr265/redsync.go/redsync":  Redsync,
	"github.com/bsm/redislock":              Redislock,
	"github.com/redis/rueidis/rueidislock":  Rueidislock,
	"github.com/rueian/rueidis/rueidislock": Rueidislock,

	"github.com/valkey-io/valkey-go/valkeylock": Rueidislock,

	"go.etcd.io/etcd/client/v3/concurrency":       Etcd,
	"go.etcd.io/etcd/clientv3/concurrency":        Etcd,
	"github.com/coreos/etcd/clientv3/concurrency": Etcd,
	"github.com/go-zookeeper/zk":                  ZooKeeper,
	"github.com/samuel/go-zookeeper/zk":           ZooKeeper,
	"github.com/hashicorp/consul/api":             Consul,
}

// Paths are the import paths of the clients, sorted.
func Paths() []string { return slices.Sorted(maps.Keys(paths)) }

// Of tells from its import path which client a package is. Only the package that users import counts, not the
// packages below it: a subpackage such as redisotel has no commands of its own.
func Of(path string) Client { return paths[WithoutVendor(path)] }

// WithoutVendor undoes the prefix that a vendored package's path has in GOPATH mode.
func WithoutVendor(path string) string {
	if i := strings.LastIndex(path, "/vendor/"); i >= 0 {
		return path[i+len("/vendor/"):]
	}
	return strings.TrimPrefix(path, "vendor/")
}

// IsDoTx reports whether a function is one that runs another in a transaction under a lock.
func IsDoTx(fn *types.Func) bool {
	return fn.Pkg() != nil && WithoutVendor(fn.Pkg().Path()) == directive.RuntimePath+"/sqlstore" &&
		(fn.Name() == "DoTx" || fn.Name() == "DoAllTx")
}

// OfPackage is Of for a package that may be nil, as that of error's method is.
func OfPackage(pkg *types.Package) Client {
	if pkg == nil {
		return None
	}
	return Of(pkg.Path())
}

// Named returns the name of the type that t is or points to, if that type is declared in client c.
func Named(t types.Type, c Client) string {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || OfPackage(n.Obj().Pkg()) != c {
		return ""
	}
	return n.Obj().Name()
}

// HandleName is how messages call what a library hands out.
func (c Client) HandleName() string {
	if c == Runtime {
		return "lease"
	}
	return "lock"
}

// IsPeer reports whether a lock is one of those that LL3 is about: of a library on Redis, or by hand and handed out as
// these do.
func IsPeer(c Client) bool {
	return c == Redsync || c == Redislock || c == Rueidislock || c == GoZero || c == ByHand
}

// IsCoordinator reports whether a library's locks live in a coordination service and end with a session.
func IsCoordinator(c Client) bool { return c == Etcd || c == ZooKeeper || c == Consul }

// IsKept reports whether a library's locks are kept: programs wrap them in types of their own. The leases of this
// project's runtime are handed on instead.
func IsKept(c Client) bool { return IsPeer(c) || IsCoordinator(c) }

// HasMutex reports whether a library's lock is an object that exists before it is locked.
func HasMutex(c Client) bool { return c == Redsync || c == GoZero || IsCoordinator(c) }

// JobsPath is the import path of the scheduler.
const JobsPath = "github.com/lockgen/lockgen/jobs"

// IsJob reports whether a type is jobs.Job.
func IsJob(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == "Job" && n.Obj().Pkg() != nil && WithoutVendor(n.Obj().Pkg().Path()) == JobsPath
}
