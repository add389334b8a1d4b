package jobs

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

func (s *redisStore) Failures(ctx context.Context, limit int) ([]Run, error) {
	if limit <= 0 {
		return nil, nil
	}
	pipe := s.client.Pipeline()
	var cmds [allShards]*redis.StringSliceCmd
	for i, at := range s.shards {
		cmds[i] = pipe.LRange(ctx, at.failures, 0, int64(limit)-1)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	var lists [allShards][]Run
	for i, cmd := range cmds {
		lines, err := cmd.Result()
		if err == nil {
			lists[i], err = readRuns(lines)
		}
		if err != nil {
			return nil, fmt.Errorf("list failures in Redis: %w", err)
		}
	}
	return latestFailures(limit, lists[:]...), nil
}
