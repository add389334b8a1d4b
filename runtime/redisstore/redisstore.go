package redisstore

import (
	"crypto/rand"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/startstop"
)

// Config configures a [Store]. The zero value is usable.
type Config struct {
	// Retention is how long the highest epoch of a key is remembered after its last use, at least half of it after a
	// long lease. Later the server's clock alone makes epochs grow. Defaults to 1 h.
	Retention time.Duration
	// Liveness is how long a waiter of a process that no longer shows itself keeps its place in a queue. Processes
	// that wait show themselves three times as often. Defaults to 3 s.
	Liveness time.Duration
	// Replicas is how many replicas must have acknowledged a lock before Acquire returns it. With fewer the lock is
	// given back, and the error says so. It costs a round trip, and the user of the server needs +wait. It makes the
	// time shorter in which a failover may forget a lease; it does not end that, because a replica without the lease
	// may be promoted. Defaults to 0: Acquire waits for none.
	Replicas int
	// ReplicaTimeout is how long to wait for them, from 1 ms to 2 s. Defaults to 50 ms.
	ReplicaTimeout time.Duration
}

func (c Config) withDefaults() (Config, error) {
	if c.Retention == 0 {
		c.Retention = time.Hour
	}
	if c.Liveness == 0 {
		c.Liveness = 3 * time.Second
	}
	if c.Retention < time.Second || c.Liveness < 100*time.Millisecond {
		return c, fmt.Errorf("%w: redisstore.Config has Retention %s and Liveness %s; at least 1s and 100ms are needed",
			lockrt.ErrOptions, c.Retention, c.Liveness)
	}
	if c.Replicas == 0 && c.ReplicaTimeout == 0 {
		return c, nil
	}
	if c.Replicas > 0 && c.ReplicaTimeout == 0 {
		c.ReplicaTimeout = 50 * time.Millisecond
	}
	if c.Replicas < 1 || c.ReplicaTimeout < time.Millisecond || c.ReplicaTimeout > 2*time.Second {
		return c, fmt.Errorf("%w: redisstore.Config has Replicas %d and ReplicaTimeout %s; "+
			"1 or more are needed, and 1ms to 2s", lockrt.ErrOptions, c.Replicas, c.ReplicaTimeout)
	}
	return c, nil
}

// Store keeps locks in Redis. It implements lockrt.Store.
type Store struct {
	client redis.UniversalClient
	cfg    Config

	log      *clientLog // nil if the client is the caller's
	findings []finding  // warnings for the log of the first Locker
}

var _ lockrt.Store = (*Store)(nil)

// New returns a store on client, which stays the caller's: a *redis.Client, also of NewFailoverClient, or a
// *redis.ClusterClient. It does not contact the server. lockrt.New refuses other clients, such as a *redis.Ring, and an
// invalid Config.
//
// Recommended for a cluster's client: ClusterStateReloadInterval of 2 s. By its default of a minute, locks may fail for
// that long after a failover.
//
// Renewals, signs of life of waiters and the subscription use a small client of the session's own. It has two
// connections, made like those of client. So no lease is lost when other work takes all connections of client. Hooks
// that were added to client do not see those calls.
//
// Recommended for client: ContextTimeoutEnabled, without which go-redis lets a call on a dead connection last for its
// ReadTimeout whatever the context says. Callers do not wait for that, but a goroutine and a connection do.
func New(client redis.UniversalClient, cfg Config) *Store {
	return &Store{client: client, cfg: cfg}
}

// Client returns the client, for packages that keep their own data beside the locks.
func (s *Store) Client() redis.UniversalClient { return s.client }

// Close closes the client if the store was opened by URL.
func (s *Store) Close() error {
	if s.log == nil {
		return nil
	}
	s.log.close()
	return s.client.Close()
}

// Open implements lockrt.Store.
func (s *Store) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	if err := checkClient(s.client); err != nil {
		return nil, err
	}
	storeCfg, err := s.cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s.warn(cfg.Logger)
	if s.log != nil {
		s.log.logger.Store(cfg.Logger)
	}
	sess := newSession(s.client, cfg, storeCfg)
	sess.gate.Go(sess.listen)
	sess.gate.Go(sess.keepAlive)
	sess.gate.Go(sess.cleanUp)
	sess.gate.Go(sess.recheck)
	return sess, nil
}

// newSession makes a session whose goroutines do not run yet.
func newSession(client redis.UniversalClient, cfg lockrt.SessionConfig, storeCfg Config) *session {
	_, clustered := client.(*redis.ClusterClient)
	g := startstop.New()
	channel := "lockgen:" + rand.Text()
	sess := &session{
		SessionConfig: cfg, client: client, own: ownClient(client), clustered: clustered, retries: retriesOf(client),
		calls: newCalls(),
		space: newKeySpace(cfg.Namespace), mixed: mixedLocks{seed: maphash.MakeSeed()}, quick: newQuick(client),
		channel: channel, waiterID: channel + " " + cfg.Node, retention: storeCfg.Retention, liveness: storeCfg.Liveness,
		replicas: storeCfg.Replicas, replicaTimeout: storeCfg.ReplicaTimeout,
		gate: g, ctx: g.Context(),
		waiters: make(map[string]*waiter), queues: make(map[string]*queue),
		wakeKeepAlive: make(chan struct{}, 1), subscribed: make(chan struct{}, 1),
		wakeRecheck: make(chan struct{}, 1),
	}
	sess.stripes = sess.newStripes()
	sess.leftovers = sess.newJanitor()
	return sess
}
