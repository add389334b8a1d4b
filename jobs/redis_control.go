package jobs

import (
	"context"
	"fmt"
	"time"
)

// one runs a script that answers 1 or 0, and returns gone for a 0.
func (s *redisStore) one(ctx context.Context, doing string, script *script, keys []string, gone error, args ...any) error {
	switch n, err := script.run(ctx, s.client, scriptCall{keys: keys, args: args})[0].Int64(); {
	case err != nil:
		return fmt.Errorf("%s in Redis: %w", doing, err)
	case n == 0:
		return gone
	}
	return nil
}

func (s *redisStore) Pause(ctx context.Context, job string, p Pause) error {
	at := s.shards[shardOf(job)]
	return s.one(ctx, "write its pause", pauseScript, []string{at.marks, at.paused, at.stamp, at.pausing}, ErrUnknownJob,
		job, encodeJSON(p))
}

func (s *redisStore) Resume(ctx context.Context, job string, version int64, record Run, keep int) error {
	at := s.shards[shardOf(job)]
	keys := []string{at.marks, at.paused, at.runs(job), at.stamp, at.pausing, at.names, at.latest, at.failing, at.never}
	return s.one(ctx, "end its pause", resumeScript, keys, ErrGone,
		retention.Milliseconds(), job, version, encodeRecord(&record), keep)
}

func (s *redisStore) Cancel(ctx context.Context, n Notice) error {
	at := s.shards[shardOf(n.Job)]
	return s.one(ctx, "leave a notice", cancelScript, []string{at.owner, at.notices}, ErrGone,
		n.ID, encodeJSON(n))
}

func (s *redisStore) Put(ctx context.Context, o Once) error {
	at := s.shards[onceShard]
	o.At = o.At.UTC().Truncate(time.Microsecond)
	return s.one(ctx, "store it", putScript, []string{at.once, at.due, at.past}, nil,
		o.ID, encodeJSON(o), micros(o.At), onceRetention.Microseconds())
}

func (s *redisStore) Withdraw(ctx context.Context, id string) error {
	at := s.shards[onceShard]
	return s.one(ctx, "remove it", withdrawScript, []string{at.once, at.due}, ErrGone, id)
}

func (s *redisStore) Waiting(ctx context.Context, limit int) ([]Once, error) {
	at := s.shards[onceShard]
	if limit <= 0 {
		return nil, nil
	}
	ids, err := s.client.ZRange(ctx, at.due, 0, int64(limit)-1).Result()
	if err != nil {
		return nil, fmt.Errorf("list one-off jobs in Redis: %w", err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	values, err := s.client.HMGet(ctx, at.once, ids...).Result()
	if err != nil {
		return nil, fmt.Errorf("list one-off jobs in Redis: %w", err)
	}
	return readOnce(values)
}
