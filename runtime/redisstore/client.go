package redisstore

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// checkClient takes the clients for which it is known where a script runs: always at the one server that has the key.
// A type of the caller's own may be anything, a Ring in disguise too, and does not say whether it is a cluster's.
func checkClient(client redis.UniversalClient) error {
	missing := false
	switch c := client.(type) {
	case nil:
		missing = true
	case *redis.Client:
		missing = c == nil
	case *redis.ClusterClient:
		missing = c == nil
	case *redis.Ring:
		return fmt.Errorf("%w: redisstore.New was given a *redis.Ring, which sends keys to another server when one is away, "+
			"so that two may hold one lock; use a single server, Sentinels or a Redis Cluster", lockrt.ErrOptions)
	case *redis.AutoPipeliner:
		return fmt.Errorf("%w: redisstore.New was given an AutoPipeliner, which runs commands after their context "+
			"has ended; give it the client itself, calls of many goroutines are sent together all the same", lockrt.ErrOptions)
	default:
		return fmt.Errorf("%w: redisstore.New was given a %T; it takes a *redis.Client, which NewFailoverClient makes too, "+
			"or a *redis.ClusterClient: of other types it cannot tell where a command goes. To see the commands of a "+
			"client, use its AddHook", lockrt.ErrOptions, client)
	}
	if missing {
		return fmt.Errorf("%w: redisstore.New was given no client", lockrt.ErrOptions)
	}
	return nil
}

// finding is something that the log should say when a Locker begins to use the store.
type finding struct {
	message string
	attrs   []slog.Attr
}

// slowReload is the longest reload interval of a cluster client that gets no warning.
const slowReload = 10 * time.Second

// warn logs what was found out about the server, and what is to be seen of the caller's client.
func (s *Store) warn(logger *slog.Logger) {
	findings := s.findings
	cluster, ok := s.client.(*redis.ClusterClient)
	// With ClusterSlots the interval does not matter: the caller, or a client of Sentinels, keeps the slots up to date.
	if ok && cluster.Options().ClusterSlots == nil && cluster.Options().ClusterStateReloadInterval > slowReload {
		findings = append(findings[:len(findings):len(findings)], finding{
			"redis cluster client asks rarely who has which keys: after a failover locks may fail for that long; " +
				"set redis.ClusterOptions.ClusterStateReloadInterval to 2s",
			[]slog.Attr{slog.Duration("interval", cluster.Options().ClusterStateReloadInterval)},
		})
	}
	for _, f := range findings {
		logger.LogAttrs(context.Background(), slog.LevelWarn, f.message, f.attrs...)
	}
}
