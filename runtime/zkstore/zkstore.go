package zkstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Config configures a [Store]. The zero value is usable.
type Config struct {
	// Prefix is the node below which everything of the store is. It is made if it is not there. Defaults to "lockgen".
	// None of its names may begin with ~, as those of namespaces do.
	Prefix string
	// SessionTimeout is for how long the servers remember a process that has gone silent. The locks of a dead process
	// are free after that. No lease is granted for longer than it, less a tick and what two signs of life take. The
	// servers give 2 to 20 of their ticks, unless they are set up otherwise. Defaults to 10 s.
	SessionTimeout time.Duration
	// Tick is the tickTime of the servers, or a longer time. Defaults to 2 s, as theirs does. With less than theirs a
	// lease may outlive what they promise. A session that the servers give for less than two of it is an error.
	Tick time.Duration
	// User and Password are for authentication by digest. What the store makes belongs to that user then, and others
	// cannot read it. Without them everybody may read and change it.
	User, Password string
	// TLS, if not nil, is for servers that take clients on a secure port.
	TLS *tls.Config
	// Dial, if not nil, connects to a server, with TLS where that is wanted. Defaults to that of net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

const (
	maxPrefix   = 1024
	minSession  = 100 * time.Millisecond
	maxSession  = 24 * time.Hour
	defaultPort = "2181"
)

func (c Config) withDefaults() (Config, error) {
	c.Prefix = strings.Trim(cmp.Or(c.Prefix, "lockgen"), "/")
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 10*time.Second)
	c.Tick = cmp.Or(c.Tick, 2*time.Second)
	switch {
	case len(c.Prefix) > maxPrefix:
		return c, fmt.Errorf("%w: zkstore.Config.Prefix has %d bytes; use %d at most", lockrt.ErrOptions, len(c.Prefix),
			maxPrefix)
	case !isPath(c.Prefix):
		return c, fmt.Errorf("%w: zkstore.Config.Prefix %q is no path of ZooKeeper; use names without control characters "+
			"between single slashes, and not . or ..", lockrt.ErrOptions, c.Prefix)
	case c.Prefix == "zookeeper" || strings.HasPrefix(c.Prefix, "zookeeper/"):
		return c, fmt.Errorf("%w: zkstore.Config.Prefix %q is ZooKeeper's own; use another name", lockrt.ErrOptions, c.Prefix)
	case isMarked(c.Prefix):
		return c, fmt.Errorf("%w: zkstore.Config.Prefix %q has a name that begins with ~, which marks namespaces",
			lockrt.ErrOptions, c.Prefix)
	case c.SessionTimeout < minSession || c.SessionTimeout > maxSession:
		return c, fmt.Errorf("%w: zkstore.Config.SessionTimeout is %s; use %s to %s", lockrt.ErrOptions, c.SessionTimeout,
			minSession, maxSession)
	case c.Tick < 0 || c.Tick > c.SessionTimeout/2:
		return c, fmt.Errorf("%w: zkstore.Config.Tick is %s, and SessionTimeout %s; a session has two ticks at the least",
			lockrt.ErrOptions, c.Tick, c.SessionTimeout)
	case (c.User == "") != (c.Password == ""):
		return c, fmt.Errorf("%w: zkstore.Config has only one of User and Password", lockrt.ErrOptions)
	case strings.Contains(c.User, ":"):
		return c, fmt.Errorf("%w: zkstore.Config.User has a colon", lockrt.ErrOptions)
	}
	return c, nil
}

// Store keeps locks in ZooKeeper. It implements lockrt.Store. It has no connection of its own: each of its sessions has
// one, from its first use to its end.
type Store struct {
	servers []string
	cfg     Config
}

var _ lockrt.Store = (*Store)(nil)

// New returns a store on the servers, as host:port or host. It does not contact them. lockrt.New refuses an invalid
// Config.
//
// There is no way to use a connection of the caller's: a session of ZooKeeper is what holds the locks, and the client
// puts another one in its place without a word to those who use it.
func New(servers []string, cfg Config) *Store {
	s := &Store{cfg: cfg}
	for _, server := range servers {
		s.servers = append(s.servers, withPort(server))
	}
	return s
}

func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), defaultPort)
}

// Open implements lockrt.Store.
func (s *Store) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	if len(s.servers) == 0 {
		return nil, fmt.Errorf("%w: zkstore.New was given no servers", lockrt.ErrOptions)
	}
	checked, err := s.cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	sess := newSession(s.servers, checked, cfg)
	sess.gate.Go(sess.cleanUp)
	return sess, nil
}
