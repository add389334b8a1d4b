package redisstore

import (
	"cmp"
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
	if len(lists) == 1 {
		return lists[0].err
	}
	failed := make([]error, len(lists)) // those of the first shards, in order
	for i, l := range lists {
		failed[i] = l.err
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
	size := len(calls)
	if s.parts > 1 {
		size = 1 // so that a server that is away keeps none of the others waiting
	}
	var reads []func(context.Context) func()
	for first := 0; first < len(calls); first += size {
		some := open[first : first+size]
		reads = append(reads, func(ctx context.Context) func() {
			cmds := listScript.RunAll(ctx, s.client, calls[first:first+size])
			return func() {
				for i, cmd := range cmds {
					some[i].end(some[i].takeReply(cmd))
				}
			}
		})
	}
	for i, late := range parallel.Collect(ctx, reads...) {
		for _, l := range open[i*size : (i+1)*size] {
			if late {
				l.end(errLate(ctx))
			}
		}
	}
}

// end notes why a list could not be read.
func (l *shardList) end(err error) {
	if err != nil {
		l.err, l.ended, l.read = err, true, true
	}
}

func (l *shardList) takeReply(cmd *redis.Cmd) error {
	reply, err := cmd.Slice()
	if err != nil {
		return err
	}
	return l.take(reply)
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
	sums := [...]*int{&n.Jobs, &n.Failing, &n.Paused, &n.Missed, &n.Never, &n.Unseen}
	var counts [shards][len(sums)]*redis.IntCmd
	var ticks [shards]*redis.StringCmd
	before := "(-inf" // none
	if !unseenSince.IsZero() {
		before = "(" + micros(unseenSince)
	}
	late := s.readAll(ctx, func(pipe redis.Pipeliner, i int) {
		if i == oneOffShard {
			return // handlers are not counted
		}
		at := s.shards[i]
		for k, key := range []string{at.names, at.failing, at.pausing, at.missing, at.never} {
			counts[i][k] = pipe.ZCard(ctx, key)
		}
		counts[i][len(sums)-1] = pipe.ZCount(ctx, at.seen, "-inf", before)
		ticks[i] = pipe.HGet(ctx, at.totals, "missed")
	})
	failed := late[:shards]
	for i, missed := range ticks {
		if failed[i] != nil {
			continue
		}
		for k, cmd := range counts[i] {
			failed[i] = cmp.Or(failed[i], cmd.Err())
			*sums[k] += int(cmd.Val()) // 0 after an error
		}
		if err := missed.Err(); err != redis.Nil {
			failed[i] = cmp.Or(failed[i], err)
		}
		count, _ := missed.Int64() // 0 if there is none
		n.Ticks += count
	}
	if err := s.partsError(failed); err != nil {
		return n, fmt.Errorf("count jobs in Redis: %w", err)
	}
	return n, nil
}

func (s *Store) Latest(ctx context.Context, limit int) ([]jobs.LatestRecord, error) {
	var all []jobs.LatestRecord
	err := s.highest(ctx, allShards, limit, func(at *shard) string { return at.latest },
		func(job string, score float64) {
			all = append(all, jobs.LatestRecord{Job: job, At: time.UnixMicro(int64(score)).UTC()})
		})
	if err != nil {
		err = fmt.Errorf("list the jobs that ran last in Redis: %w", err)
	}
	return merge.Latest(limit, all), err
}

func (s *Store) MostMissed(ctx context.Context, limit int) ([]string, error) {
	var all []merge.Missed
	err := s.highest(ctx, shards, limit, func(at *shard) string { return at.missed },
		func(job string, score float64) {
			all = append(all, merge.Missed{Job: job, Ticks: int64(score)})
		})
	if err != nil {
		err = fmt.Errorf("list the jobs that missed ticks in Redis: %w", err)
	}
	return merge.MostMissed(limit, all), err
}

// highest reads the members with the highest scores of each of the first n shards.
func (s *Store) highest(
	ctx context.Context, n, limit int, key func(*shard) string, yield func(job string, score float64),
) error {
	if limit <= 0 {
		return nil
	}
	cmds := make([]*redis.ZSliceCmd, n)
	late := s.readAll(ctx, func(pipe redis.Pipeliner, i int) {
		if i < n {
			cmds[i] = pipe.ZRevRangeWithScores(ctx, key(s.shards[i]), 0, int64(limit)-1)
		}
	})
	failed := late[:n]
	for i, cmd := range cmds {
		if failed[i] != nil {
			continue
		}
		failed[i] = cmd.Err()
		for _, m := range cmd.Val() {
			job, _ := m.Member.(string)
			yield(job, m.Score)
		}
	}
	return s.partsError(failed)
}
