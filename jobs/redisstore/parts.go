package redisstore

import (
	"context"
	"fmt"

	"github.com/lockgen/lockgen/jobs/internal/parallel"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/jobs"
)

// partsError is the error of a list of which some of the first shards, or all, have failed. It is nil if none has, and
// not a PartsError if none that was asked answers.
func (s *Store) partsError(failed []error) error {
	byPart := make([]error, s.parts)
	answered := false
	for shard, why := range failed {
		if why != nil {
			byPart[shard%s.parts] = why
		} else {
			answered = true
		}
	}
	if !answered {
		return failed[0]
	}
	return jobs.PartsErrorOf(byPart)
}

// readAll has commands be added for each shard, and sends those for the shards of a part in one round trip. A part that
// does not answer does not delay the others, and their answers count. Each command of a shard without an error has
// its own. The commands of a shard with an error are still under way: ctx has ended, and the client does not look at it.
func (s *Store) readAll(ctx context.Context, add func(pipe redis.Pipeliner, shard int)) (late [allShards]error) {
	reads := make([]func(context.Context) func(), s.parts)
	for part := range reads {
		pipe := s.client.Pipeline()
		for _, shard := range s.shardsOf(part) {
			add(pipe, shard)
		}
		reads[part] = func(ctx context.Context) func() {
			_, _ = pipe.Exec(ctx) // each command has its own error
			return func() {}
		}
	}
	for part, yes := range parallel.Collect(ctx, reads...) {
		for _, shard := range s.shardsOf(part) {
			if yes {
				late[shard] = errLate(ctx)
			}
		}
	}
	return late
}

// errLate is the error of a part that has not answered when ctx ends.
func errLate(ctx context.Context) error {
	return fmt.Errorf("it has not answered: %w", context.Cause(ctx))
}
