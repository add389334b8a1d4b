package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// one runs a script that answers 1 or 0, and returns gone for a 0.
func (s *Store) one(ctx context.Context, doing string, script *script, keys []string, gone error,
	args ...any) error {
	switch n, err := script.Run(ctx, s.client, keys, args...).Int64(); {
	case err != nil:
		return fmt.Errorf("%s in Redis: %w", doing, err)
	case n == 0:
		return gone
	}
	return nil
}

func (s *Store) Pause(ctx context.Context, job string, p jobs.Pause) (jobs.PauseState, error) {
	at := s.shards[shardOf(job)]
	call := scriptCall{Keys: []string{at.cursors, at.paused, at.stamp, at.pausing}, Args: []any{job, encodeJSON(p), micros(p.At)}}
	return s.switchPause(ctx, job, "write its pause", pauseScript, call, jobs.ErrUnknownJob)
}

func (s *Store) Resume(ctx context.Context, job string, version int64, record jobs.Run, keep int) (jobs.PauseState, error) {
	at := s.shards[shardOf(job)]
	call := scriptCall{
		Keys: []string{
			at.cursors, at.paused, at.runs(job), at.stamp, at.pausing, at.latest, at.failing, at.never,
		},
		Args: []any{jobs.JobRetention.Milliseconds(), job, version, encodeRecord(&record), keep},
	}
	return s.switchPause(ctx, job, "end its pause", resumeScript, call, jobs.ErrGone)
}

// switchPause runs a script that answers what is kept of a pause, or nothing: then it returns gone.
func (s *Store) switchPause(
	ctx context.Context, job, doing string, script *script, call scriptCall, gone error,
) (jobs.PauseState, error) {
	text, err := script.Run(ctx, s.client, call.Keys, call.Args...).Text()
	if err == nil && text == "" {
		return jobs.PauseState{}, gone
	}
	var state jobs.PauseState
	if err == nil {
		state, err = readPauseState(job, text)
	}
	if err != nil {
		return jobs.PauseState{}, fmt.Errorf("%s in Redis: %w", doing, err)
	}
	return state, nil
}

func (s *Store) Cancel(ctx context.Context, n jobs.Notice) error {
	at := s.shards[shardOf(n.Job)]
	return s.one(ctx, "leave a notice", cancelScript, []string{at.owner, at.notices}, jobs.ErrGone,
		n.ID, encodeJSON(n))
}

func (s *Store) Put(ctx context.Context, o jobs.OneOff) error {
	if err := o.Check(); err != nil {
		return fmt.Errorf("store it in Redis: %w", err)
	}
	at := s.shards[oneOffShard]
	o.At = o.At.UTC().Truncate(time.Microsecond)
	return s.one(ctx, "store it", putScript, []string{at.oneOffs, at.due, at.past}, nil,
		o.ID, encodeJSON(o), micros(o.At), jobs.OneOffRetention.Microseconds())
}

func (s *Store) Withdraw(ctx context.Context, id string) error {
	at := s.shards[oneOffShard]
	return s.one(ctx, "remove it", withdrawScript, []string{at.oneOffs, at.due}, jobs.ErrGone, id)
}

func (s *Store) Waiting(ctx context.Context, limit int) ([]jobs.OneOff, error) {
	at := s.shards[oneOffShard]
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
	values, err := s.client.HMGet(ctx, at.oneOffs, ids...).Result()
	if err != nil {
		return nil, fmt.Errorf("list one-off jobs in Redis: %w", err)
	}
	return readOneOffs(values)
}
