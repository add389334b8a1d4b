package lockrt

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// OpenFunc opens the store that url names. The scheme of url is in lower case. If the store is an [io.Closer], the
// Locker closes it when it is closed itself. Errors name the address but never a password.
type OpenFunc func(ctx context.Context, url string) (Store, error)

var (
	driversMu sync.Mutex
	drivers   = map[string]OpenFunc{}
)

// Register makes a store available to [Open] under a URL scheme, in any case. Stores call it from init. It panics if
// the scheme is taken.
func Register(scheme string, open OpenFunc) {
	scheme = strings.ToLower(scheme)
	driversMu.Lock()
	defer driversMu.Unlock()
	if _, taken := drivers[scheme]; taken {
		panic("lockrt: scheme " + scheme + " is registered twice")
	}
	drivers[scheme] = open
}

// driverImports tells a user of Open which import is missing.
var driverImports = map[string]string{
	"memory": "github.com/lockgen/lockgen/runtime/memstore",
	"redis":  "github.com/lockgen/lockgen/runtime/redisstore",
	"unix":   "github.com/lockgen/lockgen/runtime/redisstore",

	"postgres":   "github.com/lockgen/lockgen/runtime/sqlstore",
	"postgresql": "github.com/lockgen/lockgen/runtime/sqlstore",
	"mysql":      "github.com/lockgen/lockgen/runtime/sqlstore",
	"sqlite":     "github.com/lockgen/lockgen/runtime/sqlstore",

	"etcd":  "github.com/lockgen/lockgen/runtime/etcdstore",
	"etcds": "github.com/lockgen/lockgen/runtime/etcdstore",

	"zk":  "github.com/lockgen/lockgen/runtime/zkstore",
	"zks": "github.com/lockgen/lockgen/runtime/zkstore",
}

// Open returns a Locker on the store that url names, for example "redis://127.0.0.1:6379/0" or "memory:". The store's
// package must be imported, if only for its side effect:
//
//	import _ "github.com/lockgen/lockgen/runtime/redisstore"
//
// It blocks until the store has answered once, and fails within 5 s if it does not. Closing the Locker closes the
// store.
func Open(ctx context.Context, url string, cfg Config) (*Locker, error) {
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok || !isScheme(scheme) {
		// The text may hold a password: it is not repeated.
		return nil, fmt.Errorf("%w: the store URL has no scheme; write for example redis://127.0.0.1:6379/0 or memory:",
			ErrOptions)
	}
	scheme = strings.ToLower(scheme)
	if scheme != "sqlite" && scheme != "unix" && isTorn(rest) {
		return nil, fmt.Errorf("%w: the store URL has an @ behind its host; in user, password and what follows the host, "+
			"percent-encode all but letters and digits", ErrOptions)
	}
	url = scheme + ":" + rest
	driversMu.Lock()
	open := drivers[scheme]
	var known []string
	for name := range drivers {
		known = append(known, name)
	}
	driversMu.Unlock()
	if open == nil {
		kind, _, _ := strings.Cut(strings.Replace(scheme, "rediss", "redis", 1), "+")
		if path := driverImports[kind]; path != "" {
			return nil, fmt.Errorf("%w: no store is registered for %s: URLs; add import _ %q", ErrOptions, scheme, path)
		}
		slices.Sort(known)
		return nil, fmt.Errorf("%w: no store is registered for %q URLs; registered are: %s",
			ErrOptions, scheme, strings.Join(known, ", "))
	}
	store, err := open(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("open lock store: %w", err)
	}
	closer, _ := store.(io.Closer)
	l, err := New(store, cfg)
	if err != nil {
		if closer != nil {
			_ = closer.Close()
		}
		return nil, err
	}
	l.owned = closer
	return l, nil
}

// isTorn reports whether a part of what may be a password would be taken for a host, a path or options, and be in errors.
func isTorn(rest string) bool {
	rest, ok := strings.CutPrefix(rest, "//")
	end := strings.IndexAny(rest, "/?#")
	return ok && end >= 0 && strings.Contains(rest[end:], "@")
}

// isScheme reports whether a text is the scheme of a URL (RFC 3986), and not, say, a user and a password without one.
func isScheme(s string) bool {
	for i, c := range strings.ToLower(s) {
		switch {
		case c >= 'a' && c <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return s != ""
}
