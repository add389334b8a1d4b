package redisstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs/internal/parallel"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/merge"
)

// listStretch is how many names one script looks at in a search. It is the time for which other clients of the server
// wait.
const listStretch = 1000

// shardList is how far the list of a shard has been read.
type shardList struct {
	key    string
	at     *shard
	from   string // the last name that was looked at
	before int    // how many come before where the reading began
	found  []string
	ended  bool // there are no others
	read   bool
	err    error // why it could not be read, which ends it
}

func (s *Store) List(ctx context.Context, q jobs.ListQuery) (jobs.ListPage, error) {
	lists := s.listsOf(q)
	want := max(q.Limit, 0) + 1 // one more tells whether there are others
	for {
		open := slices.DeleteFunc(slices.Clone(lists),
			func(l *shardList) bool { return l.read && (l.ended || len(l.found) >= want) })
		if all, final := merged(lists, q.Back, want); final {
			before := 0
			for _, l := range lists {
				before += l.before
			}
			if q.Back {
				before -= len(all)
			}
			page, err := q.Page(all, before), s.unread(lists)
			if err != nil {
				err = fmt.Errorf("list jobs in Redis: %w", err)
			}
			return page, err
		}
		s.listMore(ctx, q, open, want)
	}
}

// unread says which lists could not be read.
func (s *Store) unread(lists []*shardList) error {
	failed := make(map[int]error)
	for _, l := range lists {
		if l.err != nil {
			failed[slices.Index(s.shards[:], l.at)] = l.err
		}
	}
	if len(failed) == len(lists) {
		for _, err := range failed {
			return err // all that there is to be read
		}
	}
	return s.partsError(failed)
}

// listsOf are the lists that a query is about, one of each shard that can have such jobs.
func (s *Store) listsOf(q jobs.ListQuery) (lists []*shardList) {
	if q.State == jobs.StateHandler {
		at := s.shards[oneOffShard]
		return []*shardList{{key: at.names, at: at, from: q.From}}
	}
	for _, at := range s.shards[:shards] {
		key, ok := map[jobs.JobState]string{
			jobs.StateAny: at.names, jobs.StateFailing: at.failing, jobs.StatePaused: at.pausing, jobs.StateMissed: at.missing,
			jobs.StateNever: at.never,
		}[q.State]
		if ok {
			lists = append(lists, &shardList{key: key, at: at, from: q.From})
		}
	}
	return lists
}

// merged puts together what was found, sorted, up to want names of the end where the reading began. It is final if no
// shard can have others among these.
func merged(lists []*shardList, back bool, want int) (all []string, final bool) {
	for _, l := range lists {
		all = append(all, l.found...)
	}
	slices.Sort(all)
	if len(all) > want && back {
		all = all[len(all)-want:]
	} else if len(all) > want {
		all = all[:want]
	}
	for _, l := range lists {
		passed := l.read && len(all) == want && (back && l.from <= all[0] || !back && l.from >= all[want-1])
		if !passed && !(l.read && (l.ended || len(l.found) >= want)) {
			return nil, false
		}
	}
	return all, true
}

// listMore reads on in the lists that are open.
func (s *Store) listMore(ctx context.Context, q jobs.ListQuery, open []*shardList, want int) {
	calls := make([]scriptCall, len(open))
	for i, l := range open {
		back, unseen, most := "0", "", want-len(l.found)
		if q.Back {
			back = "1"
		}
		if !q.UnseenSince.IsZero() {
			unseen = micros(q.UnseenSince)
		}
		if q.Searches() {
			most = listStretch
		}
		args := []any{l.from, back, want - len(l.found), most, unseen}
		for _, word := range q.Search {
			args = append(args, word)
		}
		calls[i] = scriptCall{Keys: []string{l.key, l.at.texts, l.at.seen}, Args: args}
	}
	read := func(ctx context.Context, first, end int) {
		for i, cmd := range listScript.RunAll(ctx, s.client, calls[first:end]) {
			reply, err := cmd.Slice()
			if err == nil {
				err = open[first+i].take(reply)
			}
			if err != nil {
				open[first+i].err, open[first+i].ended, open[first+i].read = err, true, true
			}
		}
	}
	if s.parts == 1 {
		read(ctx, 0, len(calls))
		return
	}
	reads := make([]func(context.Context), len(calls)) // so that a server that is away keeps none of the others waiting
	for i := range reads {
		reads[i] = func(ctx context.Context) { read(ctx, i, i+1) }
	}
	parallel.Do(ctx, reads...)
}

// take reads the answer of list.lua.
func (l *shardList) take(reply []any) error {
	if len(reply) != 4 {
		return errMalformed
	}
	found, err := readTexts(reply[3])
	if err != nil {
		return err
	}
	if before, _ := reply[2].(int64); !l.read {
		l.before = int(before)
	}
	l.from, _ = reply[1].(string)
	l.found, l.ended, l.read = append(l.found, found...), reply[0] == "1", true
	return nil
}

func (s *Store) Count(ctx context.Context, unseenSince time.Time) (jobs.JobCount, error) {
	var n jobs.JobCount
	pipe := s.client.Pipeline()
	sums := make(map[*redis.IntCmd]*int)
	var ticks []*redis.StringCmd
	for _, at := range s.shards[:shards] {
		sums[pipe.ZCard(ctx, at.names)] = &n.Jobs
		sums[pipe.ZCard(ctx, at.failing)] = &n.Failing
		sums[pipe.ZCard(ctx, at.pausing)] = &n.Paused
		sums[pipe.ZCard(ctx, at.missing)] = &n.Missed
		sums[pipe.ZCard(ctx, at.never)] = &n.Never
		if !unseenSince.IsZero() {
			sums[pipe.ZCount(ctx, at.seen, "-inf", "("+micros(unseenSince))] = &n.Unseen
		}
		ticks = append(ticks, pipe.HGet(ctx, at.totals, "missed"))
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for cmd, sum := range sums {
		count, err := cmd.Result()
		if err != nil {
			return jobs.JobCount{}, fmt.Errorf("count jobs in Redis: %w", err)
		}
		*sum += int(count)
	}
	for _, cmd := range ticks {
		switch count, err := cmd.Int64(); err {
		case nil:
			n.Ticks += count
		case redis.Nil:
		default:
			return jobs.JobCount{}, fmt.Errorf("count missed ticks in Redis: %w", err)
		}
	}
	return n, nil
}

func (s *Store) Latest(ctx context.Context, limit int) ([]jobs.LatestRecord, error) {
	var all []jobs.LatestRecord
	err := s.highest(ctx, s.shards[:], limit, func(at *shard) string { return at.latest },
		func(job string, score float64) {
			all = append(all, jobs.LatestRecord{Job: job, At: time.UnixMicro(int64(score)).UTC()})
		})
	if err != nil {
		return nil, fmt.Errorf("list the jobs that ran last in Redis: %w", err)
	}
	return merge.Latest(limit, all), nil
}

func (s *Store) MostMissed(ctx context.Context, limit int) ([]string, error) {
	var all []merge.Missed
	err := s.highest(ctx, s.shards[:shards], limit, func(at *shard) string { return at.missed },
		func(job string, score float64) {
			all = append(all, merge.Missed{Job: job, Ticks: int64(score)})
		})
	if err != nil {
		return nil, fmt.Errorf("list the jobs that missed ticks in Redis: %w", err)
	}
	return merge.MostMissed(limit, all), nil
}

// highest reads the members with the highest scores of each shard.
func (s *Store) highest(
	ctx context.Context, of []*shard, limit int, key func(*shard) string, yield func(job string, score float64),
) error {
	if limit <= 0 {
		return nil
	}
	pipe := s.client.Pipeline()
	cmds := make([]*redis.ZSliceCmd, len(of))
	for i, at := range of {
		cmds[i] = pipe.ZRevRangeWithScores(ctx, key(at), 0, int64(limit)-1)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for _, cmd := range cmds {
		members, err := cmd.Result()
		if err != nil {
			return err
		}
		for _, m := range members {
			job, _ := m.Member.(string)
			yield(job, m.Score)
		}
	}
	return nil
}
