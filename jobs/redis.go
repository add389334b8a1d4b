package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// retention is how long a job that no node adds any more is remembered. Nodes register their jobs every few hours, so
// it counts from the end of the last of them.
const retention = 400 * 24 * time.Hour

type redisStore struct {
	client     redis.UniversalClient
	shards     [allShards]*shard
	parts      int                      // one, or in a cluster as many as shards
	nodes      string                   // key of the list of nodes, beside the one-off jobs
	heartbeats [allShards]atomic.Uint64 // by part
}

// NewRedisStore returns a store in Redis 6.2 or later, or Valkey, single or cluster. Schedulers with the same namespace
// share their jobs. The client stays the caller's.
//
// All keys begin with the namespace and ":jobs:". A Redis user for it may be restricted to
//
//	~lock:jobs:* resetchannels -@all +eval +evalsha +time +exists +pexpire
//	+hget +hset +hsetnx +hmget +hdel +hexists +hkeys +hvals +hgetall +hincrby +lpush +lrem +ltrim +lrange
//	+zadd +zrem +zincrby +zcard +zcount +zlexcount +zscore +zmscore +zrange +zrevrange
//	+zrangebyscore +zrangebylex +zrevrangebylex +zremrangebyscore
//
// and needs what the store of locks needs besides, if that is the same user.
func NewRedisStore(client redis.UniversalClient, namespace string) Store {
	s := &redisStore{client: client, parts: 1}
	if _, clustered := client.(*redis.ClusterClient); clustered {
		s.parts = allShards
	}
	for n := range s.shards {
		s.shards[n] = newShard(namespace, n)
	}
	s.nodes = s.shards[oneOffShard].base + "nodes"
	return s
}

// Parts implements [Store].
func (s *redisStore) Parts() int { return s.parts }

// PartOf implements [Store].
func (s *redisStore) PartOf(job string) int { return shardOf(job) % s.parts }

// shardsOf are the numbers of the shards of a part.
func (s *redisStore) shardsOf(part int) (shards []int) {
	for n := part; n < allShards; n += s.parts {
		shards = append(shards, n)
	}
	return shards
}

// locate names the server that a part is on.
func (s *redisStore) locate(ctx context.Context, part int) string {
	c, clustered := s.client.(*redis.ClusterClient)
	if !clustered {
		return ""
	}
	server, err := c.MasterForKey(ctx, s.shards[part].cursors)
	if err != nil {
		return ""
	}
	return server.Options().Addr
}

// pick returns the elements of a group as arguments.
func pick(g shardGroup, all []string) []any {
	args := make([]any, len(g.indices))
	for i, at := range g.indices {
		args[i] = all[at]
	}
	return args
}

func (s *redisStore) Look(ctx context.Context, jobs []string) (View, error) {
	if len(jobs) == 0 {
		now, err := s.client.Time(ctx).Result()
		if err != nil {
			return View{}, fmt.Errorf("ask Redis for the time: %w", err)
		}
		return View{Now: now.UTC().Truncate(time.Microsecond)}, nil
	}
	groups := byShard(len(jobs), func(i int) string { return jobs[i] })
	calls := make([]scriptCall, len(groups))
	for i, g := range groups {
		at := s.shards[g.shard]
		calls[i] = scriptCall{
			keys: []string{at.cursors, at.paused, at.missed, at.flight, at.owner, at.begun, at.specs, at.owed},
			args: pick(g, jobs),
		}
	}
	v := View{Jobs: make([]JobView, len(jobs))}
	for i, cmd := range lookScript.run(ctx, s.client, calls...) {
		reply, err := cmd.Slice()
		if err == nil {
			v.Now, err = readLook(reply, groups[i], jobs, v.Jobs)
		}
		if err != nil {
			return View{}, fmt.Errorf("look at %d jobs in Redis: %w", len(jobs), err)
		}
	}
	return v, nil
}

func (s *redisStore) Cursors(ctx context.Context, jobs []string) ([]time.Time, error) {
	values, err := s.read(ctx, jobs, func(at *shard) string { return at.cursors })
	if err != nil {
		return nil, fmt.Errorf("read the cursors of %d jobs in Redis: %w", len(jobs), err)
	}
	cursors := make([]time.Time, len(jobs))
	for i, v := range values {
		cursors[i] = readMicro(v)
	}
	return cursors, nil
}

func (s *redisStore) Epochs(ctx context.Context, jobs []string) ([]string, error) {
	values, err := s.read(ctx, jobs, func(at *shard) string { return at.epochs })
	if err != nil {
		return nil, fmt.Errorf("read the epochs of %d jobs in Redis: %w", len(jobs), err)
	}
	epochs := make([]string, len(jobs))
	for i, v := range values {
		epochs[i], _ = v.(string) // nil: it has none
	}
	return epochs, nil
}

// read reads the values of jobs in the hash of their shards that hash names, nil where there is none.
func (s *redisStore) read(ctx context.Context, jobs []string, hash func(*shard) string) ([]any, error) {
	groups := byShard(len(jobs), func(i int) string { return jobs[i] })
	cmds := make([]*redis.SliceCmd, len(groups))
	pipe := s.client.Pipeline()
	for i, g := range groups {
		names := make([]string, len(g.indices))
		for k, at := range g.indices {
			names[k] = jobs[at]
		}
		cmds[i] = pipe.HMGet(ctx, hash(s.shards[g.shard]), names...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	all := make([]any, len(jobs))
	for i, cmd := range cmds {
		values, err := cmd.Result()
		if err != nil {
			return nil, err
		}
		for k, v := range values {
			all[groups[i].indices[k]] = v
		}
	}
	return all, nil
}

func (s *redisStore) InFlight(ctx context.Context) ([]InFlight, error) {
	var hashes [allShards][3]*redis.MapStringStringCmd
	s.readAll(ctx, func(pipe redis.Pipeliner, i int) {
		for k, key := range []string{s.shards[i].flight, s.shards[i].owner, s.shards[i].begun} {
			hashes[i][k] = pipe.HGetAll(ctx, key)
		}
	})
	var all []InFlight
	failed := make(map[int]error)
	for i, h := range hashes {
		if err := cmp.Or(h[0].Err(), h[1].Err(), h[2].Err()); err != nil {
			failed[i] = err
			continue
		}
		owners, begun := h[1].Val(), h[2].Val()
		for id, text := range h[0].Val() {
			if owners[id] == "" {
				continue // it ended between the questions
			}
			p, err := readInFlight(id, owners[id], begun[id], text)
			if err != nil {
				return nil, fmt.Errorf("list the runs in flight in Redis: %w", err)
			}
			all = append(all, p)
		}
	}
	if err := s.partsError(failed); err != nil {
		return all, fmt.Errorf("list the runs in flight in Redis: %w", err)
	}
	return all, nil
}

func (s *redisStore) Runs(ctx context.Context, jobs []string, limit int) ([][]Run, error) {
	all := make([][]Run, len(jobs))
	if limit <= 0 || len(jobs) == 0 {
		return all, nil
	}
	for first := 0; first < len(jobs); first += claimBatch {
		batch := jobs[first:min(first+claimBatch, len(jobs))]
		pipe := s.client.Pipeline()
		cmds := make([]*redis.StringSliceCmd, len(batch))
		for i, job := range batch {
			cmds[i] = pipe.LRange(ctx, s.shards[shardOf(job)].runs(job), 0, int64(limit)-1)
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		for i, cmd := range cmds {
			lines, err := cmd.Result()
			if err == nil {
				all[first+i], err = readRuns(lines)
			}
			if err != nil {
				return nil, fmt.Errorf("list runs of job %q in Redis: %w", batch[i], err)
			}
		}
	}
	return all, nil
}

func readRuns(lines []string) ([]Run, error) {
	runs := make([]Run, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal([]byte(line), &runs[i]); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

func (s *redisStore) Nodes(ctx context.Context) ([]Node, error) {
	pipe := s.client.Pipeline()
	values, now := pipe.HVals(ctx, s.nodes), pipe.Time(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("list the nodes in Redis: %w", err)
	}
	var nodes []Node
	for _, text := range values.Val() {
		var n Node
		at, err := readStamped(text, &n)
		if err != nil {
			return nil, fmt.Errorf("list the nodes in Redis: %w", err)
		}
		if n.Heartbeat = at; now.Val().Sub(at) <= nodeRetention {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, byName)
	return nodes, nil
}
