package redisstore

import (
	"context"

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
// does not answer keeps none of the others waiting, nor from having an answer. Each command has its own error.
func (s *Store) readAll(ctx context.Context, add func(pipe redis.Pipeliner, shard int)) {
	reads := make([]func(context.Context), s.parts)
	for part := range reads {
		pipe := s.client.Pipeline()
		for _, shard := range s.shardsOf(part) {
			add(pipe, shard)
		}
		reads[part] = func(ctx context.Context) { _, _ = pipe.Exec(ctx) }
	}
	parallel.Do(ctx, reads...)
}
