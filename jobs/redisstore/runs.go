package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/jobs"
)

func (s *Store) Claim(ctx context.Context, claims []jobs.Claim) []jobs.Claimed {
	results := make([]jobs.Claimed, len(claims))
	groups := byShard(len(claims), func(i int) string { return claims[i].Job })
	calls := make([]scriptCall, len(groups))
	for i, g := range groups {
		calls[i] = s.claimCall(g, claims)
	}
	for i, cmd := range claimScript.RunAll(ctx, s.client, calls) {
		reply, err := cmd.Slice()
		if err == nil && len(reply) != 1+3*len(groups[i].indices) {
			err = errMalformed
		}
		for k, at := range groups[i].indices {
			if err != nil {
				results[at].Err = fmt.Errorf("claim a tick of job %q in Redis: %w", claims[at].Job, err)
				continue
			}
			status, _ := reply[1+3*k].(int64)
			results[at] = jobs.Claimed{
				Status: jobs.ClaimStatus(status), Cursor: readMicro(reply[2+3*k]), Owed: readOwed(reply[3+3*k]),
				Now: readMicro(reply[0]),
			}
		}
	}
	return results
}

func (s *Store) claimCall(g shardGroup, claims []jobs.Claim) scriptCall {
	at, first := s.shards[g.shard], claims[g.indices[0]]
	keys := []string{
		at.cursors, at.paused, at.missed, at.flight, at.owner, at.alive, at.oneOffs, at.due, at.past, at.epochs, at.owed,
		at.latest, at.failing, at.never, at.missing, at.totals,
	}
	args := make([]any, 0, 4+12*len(g.indices))
	args = append(args, jobs.JobRetention.Milliseconds(), first.Lease.Microseconds(), first.Keep, jobs.OneOffRetention.Microseconds())
	for _, i := range g.indices {
		c := &claims[i]
		what, extra := "tick", any(c.Missed)
		switch {
		case c.OneOff != "":
			what, extra = "oneoff", c.OneOff
		case c.Manual:
			what, extra = "manual", askedFor(c.InFlight)
		case c.Owed:
			what = "owed"
		}
		owe := ""
		switch {
		case c.Done:
			owe = "done"
		case c.Owe != nil:
			owe = micros(c.Owe.From) + " " + micros(c.Owe.To)
		}
		id, owner, run, skipped := "", "", "", ""
		if c.InFlight != nil {
			id, owner, run = c.InFlight.Run.ID, c.InFlight.Owner, encodeInFlight(c.InFlight)
		}
		if c.Skipped != nil {
			skipped = encodeRecord(c.Skipped)
			keys = append(keys, at.runs(c.Job))
		}
		args = append(args, what, c.Job, c.Prev.UnixMicro(), c.Tick.UnixMicro(), c.Due.UnixMicro(), id, owner, run,
			skipped, extra, c.Epoch, owe)
	}
	return scriptCall{Keys: keys, Args: args}
}

// askedFor is what a run that somebody has asked for is remembered by, as one-off jobs are by their IDs. None of those is
// such a text.
func askedFor(p *jobs.InFlight) string {
	if p == nil {
		return ""
	}
	return "\x00" + p.Run.ID
}

func (s *Store) Start(ctx context.Context, starts []jobs.Start) []error {
	groups := byShard(len(starts), func(i int) string { return starts[i].Run.Job })
	calls := make([]scriptCall, len(groups))
	for i, g := range groups {
		at := s.shards[g.shard]
		args := make([]any, 0, 1+3*len(g.indices))
		args = append(args, starts[g.indices[0]].Lease.Microseconds())
		for _, k := range g.indices {
			r := &starts[k].Run
			args = append(args, r.ID, starts[k].Owner, micros(r.Started)+" "+strconv.FormatUint(uint64(r.Fence), 10))
		}
		calls[i] = scriptCall{Keys: []string{at.owner, at.begun, at.alive, at.notices}, Args: args}
	}
	doing := func(i int) string { return "start run " + strconv.Quote(starts[i].Run.ID) }
	return readDone(len(starts), groups, startScript.RunAll(ctx, s.client, calls), doing)
}

func (s *Store) Finish(ctx context.Context, finishes []jobs.Finish) []error {
	groups := byShard(len(finishes), func(i int) string { return finishes[i].Run.Job })
	calls := make([]scriptCall, len(groups))
	for i, g := range groups {
		calls[i] = s.finishCall(g, finishes)
	}
	doing := func(i int) string { return "finish run " + strconv.Quote(finishes[i].Run.ID) }
	return readDone(len(finishes), groups, finishScript.RunAll(ctx, s.client, calls), doing)
}

func (s *Store) finishCall(g shardGroup, finishes []jobs.Finish) scriptCall {
	at := s.shards[g.shard]
	keys := []string{at.flight, at.owner, at.begun, at.alive, at.notices, at.failures, at.latest, at.failing, at.never}
	args := make([]any, 0, 3+11*len(g.indices))
	args = append(args, jobs.JobRetention.Milliseconds(), finishes[g.indices[0]].Lease.Microseconds(), jobs.KeptFailures)
	for _, i := range g.indices {
		f := &finishes[i]
		orphan, record, notice, id, owner, next, begun, void := "0", "", "", "", "", "", "", ""
		if f.Orphan {
			orphan = "1"
		}
		if f.Orphan && f.Owner != jobs.Nobody {
			notice = encodeJSON(jobs.Notice{Job: f.Run.Job, ID: f.Run.ID, At: f.Run.Ended, Taken: true})
		}
		if f.Run.Outcome != "" {
			record = encodeRecord(&f.Run)
			keys = append(keys, at.runs(f.Run.Job))
		}
		if f.Run.Failed() {
			record = "!" + record
		}
		if f.Next != nil {
			id, owner, next = f.Next.Run.ID, f.Next.Owner, encodeInFlight(f.Next)
		}
		if f.Run.Outcome == jobs.OutcomeLost || id == f.Run.ID && owner == f.Owner {
			begun = micros(f.Run.Started)
		}
		if f.Next != nil && !f.Next.Void.IsZero() {
			void = micros(f.Next.Void)
		}
		args = append(args, f.Run.ID, f.Owner, orphan, record, f.Keep, notice, id, owner, next, begun, void)
	}
	return scriptCall{Keys: keys, Args: args}
}

// readDone reads the answers of a script that says for each element whether it was done.
func readDone(n int, groups []shardGroup, cmds []*redis.Cmd, doing func(i int) string) []error {
	errs := make([]error, n)
	for i, cmd := range cmds {
		done, err := cmd.Slice()
		if err == nil && len(done) != len(groups[i].indices) {
			err = errMalformed
		}
		for k, at := range groups[i].indices {
			switch {
			case err != nil:
				errs[at] = fmt.Errorf("%s in Redis: %w", doing(at), err)
			case done[k] == int64(0):
				errs[at] = jobs.ErrGone
			case done[k] != int64(1):
				errs[at] = readCancelled(done[k])
			}
		}
	}
	return errs
}

// readCancelled reads the notice that a script answers in place of a number.
func readCancelled(answer any) error {
	text, _ := answer.(string)
	var cancelled jobs.CancelledError
	if err := json.Unmarshal([]byte(text), &cancelled.Notice); err != nil {
		return fmt.Errorf("%w (notice: %w)", errMalformed, err)
	}
	return &cancelled
}

const (
	// replyLimit is how many orphans and one-off jobs one shard tells of in one heartbeat.
	replyLimit = 500
	// touchEvery is after how many heartbeats of a process the expiry of all keys is renewed.
	touchEvery = 600
)

func (s *Store) Heartbeat(ctx context.Context, b jobs.Heartbeat) (p jobs.HeartbeatReply, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("give a sign of life in Redis: %w", err)
		}
	}()
	expiry := any("")
	if s.heartbeats[b.Part].Add(1)%touchEvery == 1 {
		expiry = jobs.JobRetention.Milliseconds()
	}
	shards := s.shardsOf(b.Part)
	cmds := heartbeatScript.RunAll(ctx, s.client, s.heartbeatCalls(shards, b, expiry))
	stamps := make([]string, len(cmds))
	for i, cmd := range cmds {
		reply, err := cmd.Slice()
		if err == nil {
			stamps[i], err = readReply(reply, &p)
		}
		if err != nil {
			return jobs.HeartbeatReply{}, err
		}
	}
	p.Stamp = strings.Join(stamps, ",")
	slices.Sort(p.Peers)
	p.Peers = slices.Compact(p.Peers)
	slices.SortFunc(p.Due, jobs.OneOff.Compare)
	if slices.Contains(shards, oneOffShard) {
		err = nodeScript.Run(ctx, s.client, []string{s.nodes}, b.Session, encodeJSON(b.Node),
			jobs.NodeRetention.Microseconds()).Err()
	}
	return p, err
}

func (s *Store) heartbeatCalls(shards []int, b jobs.Heartbeat, expiry any) []scriptCall {
	stamps := strings.Split(b.Stamp, ",")
	fresh := rand.Text()
	calls := make([]scriptCall, len(shards))
	for i, n := range shards {
		at := s.shards[n]
		// The keys that are used come first; the others only expire.
		keys := []string{at.flight, at.owner, at.begun, at.alive, at.notices, at.oneOffs, at.due, at.stamp, at.paused}
		if expiry != "" {
			keys = append(keys, at.past, at.cursors, at.seen, at.missed, at.owed, at.specs, at.epochs, at.madeUp,
				at.names, at.texts, at.latest, at.failing, at.pausing, at.missing, at.never, at.totals)
		}
		known := strings.Split(stampOf(stamps, i), " ") // as readReply makes it
		if len(known) != 4 {
			known = make([]string, 4)
		}
		calls[i] = scriptCall{Keys: keys, Args: []any{
			b.Session, b.Lease.Microseconds(), b.Horizon.Microseconds(), replyLimit, jobs.NoticeRetention.Microseconds(), expiry,
			fresh, known[0], known[1], known[2], known[3],
		}}
		if n == oneOffShard {
			for _, id := range b.Waiting {
				calls[i].Args = append(calls[i].Args, id)
			}
		}
	}
	return calls
}

// stampOf is the part of a stamp that is a shard's, "" if there is none.
func stampOf(stamps []string, i int) string {
	if i < len(stamps) {
		return stamps[i]
	}
	return ""
}

func (s *Store) Leave(ctx context.Context, session string) error {
	all := make([]int, allShards)
	for n := range all {
		all[n] = n
	}
	unlisted := make(chan error, 1)
	go func() { unlisted <- s.client.HDel(ctx, s.nodes, session).Err() }() // beside the rest: its server may be away
	var err error
	failed := 0
	for _, cmd := range heartbeatScript.RunAll(ctx, s.client, s.heartbeatCalls(all, jobs.Heartbeat{Session: session}, "")) {
		if cmd.Err() != nil {
			failed, err = failed+1, cmd.Err()
		}
	}
	if err = errors.Join(err, <-unlisted); err != nil {
		return fmt.Errorf("end a session in Redis: %w (%d of %d shards)", err, failed, allShards)
	}
	return nil
}
