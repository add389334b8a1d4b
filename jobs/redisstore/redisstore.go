package redisstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/jobs"
)

// runsBatch is of how many jobs the records are asked for in one round trip.
const runsBatch = 512

// Store implements [jobs.Store]. The zero value is not usable; see [New].
type Store struct {
	client     redis.UniversalClient
	shards     [allShards]*shard
	parts      int                      // one, or in a cluster as many as shards
	nodes      string                   // key of the list of nodes, beside the one-off jobs
	heartbeats [allShards]atomic.Uint64 // by part
}

// New returns a store in a Redis server or cluster. Schedulers with the same namespace share their jobs. The client
// stays the caller's.
func New(client redis.UniversalClient, namespace string) *Store {
	s := &Store{client: client, parts: 1}
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
func (s *Store) Parts() int { return s.parts }

// PartOf implements [Store].
func (s *Store) PartOf(job string) int { return shardOf(job) % s.parts }

// shardsOf are the numbers of the shards of a part.
func (s *Store) shardsOf(part int) (shards []int) {
	for n := part; n < allShards; n += s.parts {
		shards = append(shards, n)
	}
	return shards
}

// Locate implements [jobs.Locator]: it names the server that a part is on.
func (s *Store) Locate(ctx context.Context, part int) string {
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

func (s *Store) Look(ctx context.Context, names []string) (jobs.View, error) {
	if len(names) == 0 {
		now, err := s.client.Time(ctx).Result()
		if err != nil {
			return jobs.View{}, fmt.Errorf("ask Redis for the time: %w", err)
		}
		return jobs.View{Now: now.UTC().Truncate(time.Microsecond)}, nil
	}
	groups := byShard(len(names), func(i int) string { return names[i] })
	calls := make([]scriptCall, len(groups))
	for i, g := range groups {
		at := s.shards[g.shard]
		calls[i] = scriptCall{
			Keys: []string{at.cursors, at.paused, at.missed, at.flight, at.owner, at.begun, at.specs, at.owed},
			Args: pick(g, names),
		}
	}
	v := jobs.View{Jobs: make([]jobs.JobView, len(names))}
	for i, cmd := range lookScript.RunAll(ctx, s.client, calls) {
		reply, err := cmd.Slice()
		if err == nil {
			v.Now, err = readLook(reply, groups[i], names, v.Jobs)
		}
		if err != nil {
			return jobs.View{}, fmt.Errorf("look at %d jobs in Redis: %w", len(names), err)
		}
	}
	return v, nil
}

func (s *Store) Cursors(ctx context.Context, names []string) ([]time.Time, error) {
	values, err := s.read(ctx, names, func(at *shard) string { return at.cursors })
	if err != nil {
		return nil, fmt.Errorf("read the cursors of %d jobs in Redis: %w", len(names), err)
	}
	cursors := make([]time.Time, len(names))
	for i, v := range values {
		cursors[i] = readMicro(v)
	}
	return cursors, nil
}

func (s *Store) Epochs(ctx context.Context, names []string) ([]string, error) {
	values, err := s.read(ctx, names, func(at *shard) string { return at.epochs })
	if err != nil {
		return nil, fmt.Errorf("read the epochs of %d jobs in Redis: %w", len(names), err)
	}
	epochs := make([]string, len(names))
	for i, v := range values {
		epochs[i], _ = v.(string) // nil: it has none
	}
	return epochs, nil
}

// read reads the values of jobs in the hash of their shards that hash names, nil where there is none.
func (s *Store) read(ctx context.Context, names []string, hash func(*shard) string) ([]any, error) {
	groups := byShard(len(names), func(i int) string { return names[i] })
	cmds := make([]*redis.SliceCmd, len(groups))
	pipe := s.client.Pipeline()
	for i, g := range groups {
		fields := make([]string, len(g.indices))
		for k, at := range g.indices {
			fields[k] = names[at]
		}
		cmds[i] = pipe.HMGet(ctx, hash(s.shards[g.shard]), fields...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	all := make([]any, len(names))
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

func (s *Store) InFlight(ctx context.Context) ([]jobs.InFlight, error) {
	var hashes [allShards][3]*redis.MapStringStringCmd
	failed := s.readAll(ctx, func(pipe redis.Pipeliner, i int) {
		for k, key := range []string{s.shards[i].flight, s.shards[i].owner, s.shards[i].begun} {
			hashes[i][k] = pipe.HGetAll(ctx, key)
		}
	})
	var all []jobs.InFlight
	for i, h := range hashes {
		if failed[i] != nil {
			continue
		}
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
	if err := s.partsError(failed[:]); err != nil {
		return all, fmt.Errorf("list the runs in flight in Redis: %w", err)
	}
	return all, nil
}

func (s *Store) Runs(ctx context.Context, names []string, limit int) ([][]jobs.Run, error) {
	all := make([][]jobs.Run, len(names))
	if limit <= 0 || len(names) == 0 {
		return all, nil
	}
	for first := 0; first < len(names); first += runsBatch {
		batch := names[first:min(first+runsBatch, len(names))]
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

func readRuns(lines []string) ([]jobs.Run, error) {
	runs := make([]jobs.Run, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal([]byte(line), &runs[i]); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

func (s *Store) Nodes(ctx context.Context) ([]jobs.Node, error) {
	pipe := s.client.Pipeline()
	values, now := pipe.HVals(ctx, s.nodes), pipe.Time(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("list the nodes in Redis: %w", err)
	}
	var nodes []jobs.Node
	for _, text := range values.Val() {
		var n jobs.Node
		at, err := readStamped(text, &n)
		if err != nil {
			return nil, fmt.Errorf("list the nodes in Redis: %w", err)
		}
		if n.Heartbeat = at; now.Val().Sub(at) <= jobs.NodeRetention {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, jobs.Node.Compare)
	return nodes, nil
}
