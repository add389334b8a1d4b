package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

func (s *Store) Register(ctx context.Context, r jobs.Registration) (jobs.View, error) {
	names := make([]string, len(r.Offers))
	for i, o := range r.Offers {
		names[i] = o.Definition.Job
	}
	groups := byShard(len(names), func(i int) string { return names[i] })
	calls := make([]scriptCall, len(groups))
	for i, g := range groups {
		calls[i] = s.registerCall(g, r)
	}
	versions, refused := make([]int64, len(names)), make([]string, len(names))
	for i, cmd := range registerScript.RunAll(ctx, s.client, calls) {
		answer, err := cmd.StringSlice()
		if err == nil && len(answer) != 2*len(groups[i].indices) {
			err = errMalformed
		}
		if err != nil {
			return jobs.View{}, fmt.Errorf("register %d jobs in Redis: %w", len(names), err)
		}
		for k, at := range groups[i].indices {
			versions[at], _ = strconv.ParseInt(answer[2*k], 10, 64) // "" is none
			refused[at] = answer[2*k+1]
		}
	}
	view, err := s.Look(ctx, names)
	for i := range view.Jobs {
		view.Jobs[i].Version, view.Jobs[i].Refused = versions[i], refused[i]
	}
	return view, err
}

func (s *Store) registerCall(g shardGroup, r jobs.Registration) scriptCall {
	at := s.shards[g.shard]
	args := make([]any, 0, 7+len(r.Peers)+9*len(g.indices))
	args = append(args, jobs.JobRetention.Milliseconds(), r.Session, r.Grace.Microseconds(), rand.Text(), jobs.KeptDefinitions, jobs.KeptTimings,
		len(r.Peers))
	for _, peer := range r.Peers {
		args = append(args, peer)
	}
	for _, i := range g.indices {
		d, cursor, handler := &r.Offers[i].Definition, "0", "0"
		if known := r.Offers[i].Cursor; !known.IsZero() {
			cursor = micros(known)
		}
		if d.Handler {
			handler = "1"
		}
		owed := "?"
		if r.Offers[i].OwedKnown {
			owed = writeOwed(r.Offers[i].Owed)
		}
		args = append(args, d.Job, d.Program, encodeJSON(d.Timing), encodeJSON(d), r.Offers[i].Version, cursor, handler, owed,
			jobs.SearchText(d))
	}
	keys := []string{
		at.cursors, at.seen, at.paused, at.missed, at.specs, at.madeUp, at.epochs, at.owed, at.names, at.texts, at.latest,
		at.never,
		at.failing, at.pausing, at.missing, at.totals,
	}
	return scriptCall{Keys: keys, Args: args}
}

func (s *Store) Retire(ctx context.Context, job, epoch string) error {
	at := s.shards[shardOf(job)]
	return s.one(ctx, "retire job "+strconv.Quote(job), retireScript, []string{at.cursors, at.seen, at.specs, at.epochs},
		jobs.ErrGone,
		job, epoch, rand.Text(), encodeJSON(jobs.Timing{}))
}

func (s *Store) Restore(ctx context.Context, m jobs.Memory) error {
	var args [allShards][]any
	add := func(job string, what ...any) {
		at := shardOf(job)
		args[at] = append(args[at], what...)
	}
	for _, p := range m.Pauses {
		text := "-"
		if p.Pause != nil {
			text = encodeJSON(p.Pause)
		}
		add(p.Job, "pause", p.Job, p.Version, text)
	}
	for i := range m.InFlight {
		p := &m.InFlight[i]
		begun := ""
		if !p.Run.Started.IsZero() {
			begun = micros(p.Run.Started) + " " + strconv.FormatUint(uint64(p.Run.Fence), 10)
		}
		add(p.Run.Job, "flight", p.Run.ID, p.Owner, encodeInFlight(p), begun)
	}
	for _, o := range m.Waiting {
		add(jobs.HandlerPrefix, "oneoff", o.ID, encodeJSON(o), micros(o.At))
	}
	for _, id := range m.Past {
		add(jobs.HandlerPrefix, "past", id)
	}
	var calls []scriptCall
	for i, at := range s.shards {
		if len(args[i]) > 0 {
			calls = append(calls, scriptCall{
				Keys: []string{at.paused, at.stamp, at.flight, at.owner, at.begun, at.alive, at.oneOffs, at.due, at.past,
					at.pausing},
				Args: append([]any{m.Lease.Microseconds()}, args[i]...),
			})
		}
	}
	if len(calls) == 0 {
		return nil
	}
	for _, cmd := range restoreScript.RunAll(ctx, s.client, calls) {
		if err := cmd.Err(); err != nil {
			return fmt.Errorf("restore what was lost in Redis: %w", err)
		}
	}
	return nil
}

// keptSpec is a JobSpec as register.lua writes it.
type keptSpec struct {
	Epoch   string `json:"epoch"`
	Timings []struct {
		Since  string `json:"since"`
		Timing string `json:"timing"`
	} `json:"timings"`
	Defs []struct {
		Version int64  `json:"v"`
		Def     string `json:"def"`
	} `json:"defs"`
	Offers map[string]struct {
		Version int64 `json:"v"`
	} `json:"offers"`
	Seen string `json:"seen"`
}

func readSpec(job string, cursor time.Time, text string) (jobs.JobSpec, error) {
	spec := jobs.JobSpec{Job: job, Cursor: cursor}
	if text == "" {
		return spec, nil
	}
	var kept keptSpec
	if err := json.Unmarshal([]byte(text), &kept); err != nil {
		return spec, fmt.Errorf("%w (definitions of job %s: %w)", errMalformed, job, err)
	}
	spec.Epoch, spec.Offers = kept.Epoch, make(map[string]int64, len(kept.Offers))
	for _, l := range kept.Timings {
		period := jobs.TimingPeriod{Since: readMicro(l.Since)}
		if err := json.Unmarshal([]byte(l.Timing), &period.Timing); err != nil {
			return spec, fmt.Errorf("%w (timing of job %s: %w)", errMalformed, job, err)
		}
		spec.Timings = append(spec.Timings, period)
	}
	for _, d := range kept.Defs {
		v := jobs.VersionedDef{Version: d.Version}
		if err := json.Unmarshal([]byte(d.Def), &v.Definition); err != nil {
			return spec, fmt.Errorf("%w (definition of job %s: %w)", errMalformed, job, err)
		}
		spec.Defs = append(spec.Defs, v)
	}
	spec.Seen = readMicro(kept.Seen)
	for session, o := range kept.Offers {
		spec.Offers[session] = o.Version
	}
	return spec, nil
}
