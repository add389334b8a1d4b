package redisstore

import (
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// ownConnections is how many connections to each server a session has for itself.
const ownConnections = 2

// A client of Sentinels leaves the connections to a master that is not one any more; a copy of it does not hear of
// that. In a planned failover the old master goes on as one for some ten seconds, and would renew what has run out at
// the new one. So the copy asks the Sentinels again and again.
const (
	failoverAddr = "FailoverClient" // the address that go-redis gives to such a client
	ownLifetime  = time.Second
)

// ownClient returns a small client like the caller's. What keeps leases and places in queues goes through it, so that
// a caller whose work takes all connections of its client (BLPOP) loses nothing; and the subscription, so that a
// connection without time-outs does not outlive the session. It is nil if the client is of a kind that cannot be
// copied; then the caller's does everything.
func ownClient(client redis.UniversalClient) redis.UniversalClient {
	quiet := func() *maintnotifications.Config {
		return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	}
	// The client's init has replaced -1, which means none, by 0. A second init would take 0 for the default.
	none := func(n int) int {
		if n == 0 {
			return -1
		}
		return n
	}
	switch c := client.(type) {
	case *redis.Client:
		o := *c.Options()
		o.MaxRetries = none(o.MaxRetries)
		o.PoolSize, o.PipelinePoolSize, o.MaxConcurrentDials = ownConnections, -1, ownConnections
		o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = 0, 0, 0
		o.ContextTimeoutEnabled = true
		o.ReadTimeout, o.WriteTimeout = max(o.ReadTimeout, 0), max(o.WriteTimeout, 0) // the default instead of none
		o.PushNotificationProcessor, o.MaintNotificationsConfig = nil, quiet()
		o.ClientSideCache, o.ClientSideCacheConfig, o.AutoPipelineOptions = nil, nil, nil
		if o.Addr == failoverAddr {
			o.ConnMaxLifetime, o.ConnMaxLifetimeJitter = ownLifetime, 0
		}
		return redis.NewClient(&o)
	case *redis.ClusterClient:
		o := *c.Options()
		o.Addrs = slices.Clone(o.Addrs) // a cluster client appends the nodes that it discovers
		o.MaxRedirects = none(o.MaxRedirects)
		o.PoolSize, o.PipelinePoolSize, o.MaxConcurrentDials = ownConnections, -1, ownConnections
		o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = 0, 0, 0
		o.ContextTimeoutEnabled = true
		o.ReadTimeout, o.WriteTimeout = max(o.ReadTimeout, 0), max(o.WriteTimeout, 0) // the default instead of none
		o.PushNotificationProcessor, o.MaintNotificationsConfig = nil, quiet()
		o.AutoPipelineOptions = nil
		return redis.NewClusterClient(&o)
	}
	return nil
}

// keeping is the client for what keeps leases and places.
func (s *session) keeping() redis.UniversalClient {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own == nil {
		return s.client
	}
	return s.own
}

// closeOwn closes the session's own client.
func (s *session) closeOwn() {
	s.mu.Lock()
	own := s.own
	s.own = nil
	s.mu.Unlock()
	if own != nil {
		_ = own.Close()
	}
}
