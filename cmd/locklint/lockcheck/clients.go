package lockcheck

import (
	"go/types"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// A client is a library whose calls the checks understand.
type client uint8

const (
	notClient   client = iota
	goRedis            // any version of go-redis
	redigo             // redigo under any of its homes
	rueidis            // rueidis and its command builder
	lockRuntime        // the runtime of this project
	redsync            // any version of redsync
	redislock          // bsm/redislock
	rueidislock        // rueidislock, and valkeylock, which is the same
)

// clientOf tells from its import path which client a package is. Only the package that users import counts, not the
// packages below it: a subpackage such as redisotel has no commands of its own.
func clientOf(path string) client {
	path = withoutVendor(path)
	switch path {
	case "github.com/go-redis/redis", "github.com/go-redis/redis/v7", "github.com/go-redis/redis/v8",
		"github.com/go-redis/redis/v9", "github.com/redis/go-redis/v9",
		"gopkg.in/redis.v3", "gopkg.in/redis.v4", "gopkg.in/redis.v5",
		"github.com/redis/rueidis/rueidiscompat": // rueidis behind go-redis's methods
		return goRedis
	case "github.com/gomodule/redigo/redis", "github.com/garyburd/redigo/redis":
		return redigo
	case "github.com/redis/rueidis", "github.com/redis/rueidis/internal/cmds",
		"github.com/rueian/rueidis", "github.com/rueian/rueidis/internal/cmds":
		return rueidis
	case directive.RuntimePath:
		return lockRuntime
	case "github.com/go-redsync/redsync", "github.com/go-redsync/redsync/v2", "github.com/go-redsync/redsync/v3",
		"github.com/go-redsync/redsync/v4", "gopkg.in/redsync.v1", "github.com/hjr265/redsync.go/redsync":
		return redsync
	case "github.com/bsm/redislock":
		return redislock
	case "github.com/redis/rueidis/rueidislock", "github.com/rueian/rueidis/rueidislock",
		"github.com/valkey-io/valkey-go/valkeylock":
		return rueidislock
	}
	return notClient
}

// withoutVendor undoes the prefix that a vendored package's path has in GOPATH mode.
func withoutVendor(path string) string {
	if i := strings.LastIndex(path, "/vendor/"); i >= 0 {
		return path[i+len("/vendor/"):]
	}
	return strings.TrimPrefix(path, "vendor/")
}

// clientOfPackage is clientOf for a package that may be nil, as that of error's method is.
func clientOfPackage(pkg *types.Package) client {
	if pkg == nil {
		return notClient
	}
	return clientOf(pkg.Path())
}

// namedIn returns the name of the type that t is or points to, if that type is declared in client c.
func namedIn(t types.Type, c client) string {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || clientOfPackage(n.Obj().Pkg()) != c {
		return ""
	}
	return n.Obj().Name()
}

// isContext reports whether t is context.Context.
func isContext(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == "Context" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "context"
}

// isError reports whether t is the predeclared error.
func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// isBool reports whether t's underlying type is bool.
func isBool(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// isString reports whether t's underlying type is string.
func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}
