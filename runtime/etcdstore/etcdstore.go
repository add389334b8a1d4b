package etcdstore

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	etcd "go.etcd.io/etcd/client/v3"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Config configures a [Store]. The zero value is usable.
type Config struct {
	// Prefix is what all keys of the store begin with. An account of etcd needs the right to read and write below it.
	// Defaults to "lockgen/". A final slash is added if there is none. What stands between two slashes may not begin
	// with ~, as the folders of namespaces do.
	Prefix string
}

const maxPrefix = 1024

func (c Config) withDefaults() (Config, error) {
	if c.Prefix == "" {
		c.Prefix = "lockgen/"
	}
	if len(c.Prefix) > maxPrefix {
		return c, fmt.Errorf("%w: etcdstore.Config.Prefix has %d bytes; use %d at most", lockrt.ErrOptions, len(c.Prefix),
			maxPrefix)
	}
	if strings.ContainsRune(c.Prefix, 0) {
		return c, fmt.Errorf("%w: etcdstore.Config.Prefix %q holds a NUL", lockrt.ErrOptions, c.Prefix)
	}
	if isMarked(c.Prefix) {
		return c, fmt.Errorf("%w: etcdstore.Config.Prefix %q has a part that begins with ~, which marks namespaces",
			lockrt.ErrOptions, c.Prefix)
	}
	if !strings.HasSuffix(c.Prefix, "/") {
		c.Prefix += "/"
	}
	return c, nil
}

// Store keeps locks in etcd. It implements lockrt.Store.
type Store struct {
	client *etcd.Client
	cfg    Config
	owned  bool // the client was made for a URL

	asking   chan struct{} // has an element while somebody examines the servers
	examined atomic.Pointer[findings]
	terms    terms
}

var _ lockrt.Store = (*Store)(nil)

// New returns a store on client, which stays the caller's. It does not contact the servers. The first use does, and it
// refuses servers that lose leases. lockrt.New refuses an invalid Config.
//
// Recommended for client: DialKeepAliveTime of 5 s and DialKeepAliveTimeout of 3 s, so that it leaves a server that has
// gone silent, and grpc.WithConnectParams with a MaxDelay of a second: otherwise it looks for a server that was away at
// longer and longer intervals, up to two minutes. A client whose KV, Lease and Watcher are wrapped, as by the package
// clientv3/namespace, is fine.
func New(client *etcd.Client, cfg Config) *Store {
	return &Store{client: client, cfg: cfg, asking: make(chan struct{}, 1)}
}

// Client returns the client, for packages that keep their own data beside the locks.
func (s *Store) Client() *etcd.Client { return s.client }

// Close closes the client if the store was opened by URL.
func (s *Store) Close() error {
	if !s.owned {
		return nil
	}
	return s.client.Close()
}

// Open implements lockrt.Store.
func (s *Store) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	if s.client == nil {
		return nil, fmt.Errorf("%w: etcdstore.New was given no client", lockrt.ErrOptions)
	}
	checked, err := s.cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	sess := newSession(s, cfg, newSpace(checked.Prefix, cfg.Namespace))
	sess.gate.Go(sess.hear)
	sess.gate.Go(sess.cleanUp)
	return sess, nil
}

// ready examines the servers, until it has succeeded once.
func (s *Store) ready(ctx context.Context) (*findings, error) {
	if f := s.examined.Load(); f != nil {
		return f, nil
	}
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if f := s.examined.Load(); f != nil {
		return f, nil
	}
	f, err := examine(ctx, s.client, &s.terms)
	if err != nil {
		return nil, err
	}
	s.examined.Store(f)
	return f, nil
}
