package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// replicasError says that too few replicas have a lock.
type replicasError struct {
	got, want int
	within    time.Duration
}

func (e *replicasError) Error() string {
	return fmt.Sprintf("%d of %d replicas acknowledged the lock within %s, and it was given back; look at the replicas' lag, "+
		"or raise redisstore.Config.ReplicaTimeout", e.got, e.want, e.within)
}

// replicated gives a grant on if enough replicas have it, and back if not. What was written to the server before a
// connection's last write has reached a replica when that has; so it does not matter whose release has handed the lock
// on.
func (s *session) replicated(ctx context.Context, req lockrt.Request, grant lockrt.Grant) (lockrt.Grant, error) {
	keys := s.space.keys(req.Key).of(req.Mode, req.Permits)
	got, err := s.acknowledged(ctx, keys)
	if err == nil && got < s.replicas {
		err = &replicasError{got, s.replicas, s.replicaTimeout}
	}
	if err != nil {
		s.leftovers.Abandon(req.ID, keys, req.TTL)
		return lockrt.Grant{}, explain(ctx, err)
	}
	return grant, nil
}

// acknowledged returns how many replicas have all that the lock's server was told.
func (s *session) acknowledged(ctx context.Context, keys lockKeys) (int, error) {
	call, cancel := bounded(ctx)
	defer cancel()
	got := new(int64)
	err := s.calls.Do(call, func() error {
		client, err := s.serverOf(call, keys)
		if err != nil {
			return err
		}
		*got, err = s.waitFor(call, client, keys)
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			if err = confirmScript.Run(call, client, []string{keys.lock}).Err(); err == nil {
				*got, err = s.waitFor(call, client, keys)
			}
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return int(*got), nil
}

// waitFor asks once, with both commands on one connection.
func (s *session) waitFor(ctx context.Context, client redis.UniversalClient, keys lockKeys) (int64, error) {
	pipe := client.Pipeline()
	confirmed := pipe.EvalSha(ctx, confirmScript.SHA, []string{keys.lock})
	acknowledged := pipe.Do(ctx, "wait", s.replicas, s.replicaTimeout.Milliseconds())
	_, _ = pipe.Exec(ctx) // each command reports its own error
	if err := confirmed.Err(); err != nil {
		return 0, err
	}
	return acknowledged.Int64()
}

// serverOf is the client for the server that has a lock.
func (s *session) serverOf(ctx context.Context, keys lockKeys) (redis.UniversalClient, error) {
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, keys.lock)
	}
	return s.client, nil
}
