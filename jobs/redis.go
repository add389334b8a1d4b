package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// retention is how long a job that no node adds any more is remembered. Nodes renew it at every look, so it counts
// from the end of the last of them.
const retention = 400 * 24 * time.Hour

type redisStore struct {
	client redis.UniversalClient
	prefix string
}

// NewRedisStore returns a store in Redis 6.2 or later, or Valkey, single or cluster. Schedulers with the same namespace
// share their jobs. The client stays the caller's.
func NewRedisStore(client redis.UniversalClient, namespace string) Store {
	return &redisStore{client: client, prefix: encode(namespace) + ":jobs:{"}
}

// call builds one call; all scripts have the expiry first.
func (s *redisStore) call(job string, args ...any) scriptCall {
	return scriptCall{keys: s.keys(job), args: append([]any{retention.Milliseconds()}, args...)}
}

func (s *redisStore) Look(ctx context.Context, jobs []string) (View, error) {
	calls := make([]scriptCall, len(jobs))
	for i, job := range jobs {
		calls[i] = s.call(job)
	}
	if len(jobs) == 0 {
		now, err := s.client.Time(ctx).Result()
		if err != nil {
			return View{}, fmt.Errorf("ask Redis for the time: %w", err)
		}
		return View{Now: now.UTC()}, nil
	}
	v := View{Jobs: make([]JobView, len(jobs))}
	for i, cmd := range lookScript.run(ctx, s.client, calls) {
		reply, err := cmd.Slice()
		if err != nil {
			return View{}, s.failed("look at", jobs[i], err)
		}
		if v.Jobs[i], v.Now, err = readJob(reply); err != nil {
			return View{}, s.failed("look at", jobs[i], err)
		}
	}
	return v, nil
}

func (s *redisStore) Claim(ctx context.Context, claims []Claim) []Claimed {
	results := make([]Claimed, len(claims))
	calls := make([]scriptCall, len(claims))
	for i, c := range claims {
		id, run, skipped := "", "", ""
		if c.Pending != nil {
			id, run = c.Pending.Run.ID, encodeJSON(c.Pending)
		}
		if c.Skipped != nil {
			skipped = encodeJSON(c.Skipped)
		}
		calls[i] = s.call(c.Job, c.Prev.UnixMicro(), c.Tick.UnixMicro(), c.Due.UnixMicro(), id, run,
			c.Lease.Microseconds(), skipped, c.Keep)
	}
	for i, cmd := range claimScript.run(ctx, s.client, calls) {
		n, err := cmd.Int64Slice()
		switch {
		case err != nil:
			results[i].Err = s.failed("claim a tick of", claims[i].Job, err)
		case len(n) != 3:
			results[i].Err = s.failed("claim a tick of", claims[i].Job, fmt.Errorf("the script answered %d values instead of 3", len(n)))
		default:
			results[i] = Claimed{Status: ClaimStatus(n[0]), Mark: micro(n[1]), Now: micro(n[2])}
		}
	}
	return results
}

func (s *redisStore) Start(ctx context.Context, p Pending, lease time.Duration) error {
	c := s.call(p.Run.Job, p.Run.ID, encodeJSON(p), lease.Microseconds())
	return s.done("start a run of", p.Run.Job, startScript.run(ctx, s.client, []scriptCall{c})[0])
}

func (s *redisStore) Renew(ctx context.Context, runs []RunRef, lease time.Duration) []error {
	calls := make([]scriptCall, len(runs))
	for i, r := range runs {
		calls[i] = s.call(r.Job, r.ID, lease.Microseconds())
	}
	errs := make([]error, len(runs))
	for i, cmd := range renewScript.run(ctx, s.client, calls) {
		errs[i] = s.done("keep a run of", runs[i].Job, cmd)
	}
	return errs
}

func (s *redisStore) Finish(ctx context.Context, f Finish) error {
	record, orphan, id, next := "", "0", "", ""
	if f.Run.Outcome != "" {
		record = encodeJSON(f.Run)
	}
	if f.Orphan {
		orphan = "1"
	}
	if f.Next != nil {
		id, next = f.Next.Run.ID, encodeJSON(f.Next)
	}
	c := s.call(f.Run.Job, f.Run.ID, record, f.Keep, orphan, id, next, f.Lease.Microseconds())
	return s.done("finish a run of", f.Run.Job, finishScript.run(ctx, s.client, []scriptCall{c})[0])
}

func (s *redisStore) Runs(ctx context.Context, job string, limit int) ([]Run, error) {
	if limit <= 0 {
		return nil, nil
	}
	lines, err := s.client.LRange(ctx, s.keys(job)[1], 0, int64(limit)-1).Result()
	if err != nil {
		return nil, s.failed("list runs of", job, err)
	}
	runs := make([]Run, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal([]byte(line), &runs[i]); err != nil {
			return nil, s.failed("read a run of", job, err)
		}
	}
	return runs, nil
}

// done reads the answer of a script that says whether the run was in flight.
func (s *redisStore) done(doing, job string, cmd *redis.Cmd) error {
	switch n, err := cmd.Int64(); {
	case err != nil:
		return s.failed(doing, job, err)
	case n == 0:
		return ErrGone
	}
	return nil
}

func (s *redisStore) failed(doing, job string, err error) error {
	return fmt.Errorf("%s job %q in Redis: %w", doing, job, err)
}
