package redisstore

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/merge"
)

func (s *Store) Failures(ctx context.Context, limit int) ([]jobs.Run, error) {
	if limit <= 0 {
		return nil, nil
	}
	var cmds [allShards]*redis.StringSliceCmd
	failed := s.readAll(ctx, func(pipe redis.Pipeliner, i int) {
		cmds[i] = pipe.LRange(ctx, s.shards[i].failures, 0, int64(limit)-1)
	})
	var lists [allShards][]jobs.Run
	for i, cmd := range cmds {
		if failed[i] != nil {
			continue
		}
		lines, err := cmd.Result()
		if err != nil {
			failed[i] = err
			continue
		}
		if lists[i], err = readRuns(lines); err != nil {
			return nil, fmt.Errorf("list failures in Redis: %w", err)
		}
	}
	failures := merge.Failures(limit, lists[:]...)
	if err := s.partsError(failed[:]); err != nil {
		return failures, fmt.Errorf("list failures in Redis: %w", err)
	}
	return failures, nil
}
