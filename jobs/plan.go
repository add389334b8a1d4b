package jobs

import (
	"fmt"
	"time"

	"github.com/lockgen/lockgen/jobs/internal/spread"

	"github.com/robfig/cron/v3"
)

// plan is what to do next about a job whose cursor is known.
type plan struct {
	due     time.Time // when to do it; zero: the schedule has no more ticks
	tick    time.Time // the new cursor
	run     bool      // whether to run tick; false: only move the cursor
	trigger string
	owe     *Span // ticks that are to be run one after another beside the schedule
	owed    bool  // it is about those: from prev, and tick is the last of its span if done
	done    bool
	prev    time.Time
	skipped *gap // the ticks passed over, to be recorded

	cursor time.Time // after which this was planned
	until  time.Time // until when it holds; zero: only now
}

// holds reports whether p, made when the cursor was cursor, is still what is to be done at the time now: a plan for a
// tick in time is one until its grace is over, any other may change from moment to moment.
func (p plan) holds(cursor, now time.Time) bool {
	return !p.due.IsZero() && p.cursor.Equal(cursor) && now.Before(p.until)
}

// newestDue returns the last tick from first on that is due at the time now, first if that is the only one, or none is.
func (e *entry) newestDue(first, now time.Time) time.Time {
	edge := now.Add(-e.job.Jitter).Add(time.Microsecond)
	if !first.Before(edge) {
		return first
	}
	if second := e.after(first); second.IsZero() || !second.Before(edge) {
		return first
	}
	return e.lastBefore(first, edge)
}

// maxOwed is how many spans a job may owe at a time: with more its nodes come and go faster than it can catch up.
const maxOwed = 8

// oweAll has the ticks from first to newest run one after another, beside those that are on time.
func (e *entry) oweAll(first, newest time.Time, skipped *gap) plan {
	p := plan{due: newest, tick: newest, trigger: TriggerMisfire, skipped: skipped}
	if len(e.owed) >= maxOwed {
		if skipped != nil {
			first = skipped.first
		}
		p.skipped = &gap{first, newest, "misfire: the job has not yet caught up with what it missed before"}
		return p
	}
	p.owe = &Span{From: first.Add(-time.Microsecond), To: newest}
	return p
}

// nextOwed decides about the oldest tick that is owed. One that has become too late meanwhile is run only if Misfire is
// all.
func (e *entry) nextOwed(now time.Time) plan {
	span := e.owed[0]
	p := plan{due: now, owed: true, prev: span.From, trigger: TriggerSchedule}
	tick := e.after(span.From)
	if tick.IsZero() || tick.After(span.To) {
		p.tick, p.done = span.To, true
		return p
	}
	cutoff := now.Add(-e.job.Grace - e.job.Jitter)
	p.tick, p.run = tick, true
	if tick.Before(cutoff) {
		p.trigger = TriggerMisfire
		if e.job.Misfire != MisfireAll {
			if span.To.Before(cutoff) {
				cutoff = span.To.Add(time.Microsecond)
			}
			p.tick, p.run = e.lastBefore(tick, cutoff), false
			p.skipped = &gap{tick, p.tick,
				"misfire: too late when those before it had ended, and Misfire is " + string(e.job.Misfire)}
		}
	}
	next := e.after(p.tick)
	p.done = next.IsZero() || next.After(span.To)
	return p
}

// gap is a stretch of ticks that are not run.
type gap struct {
	first, last time.Time
	why         string
}

// next decides what comes after cursor, at the time now. It depends on nothing else, so nodes that see the same cursor
// decide alike, and the store's compare-and-set on the cursor lets one of them act.
func (e *entry) next(cursor, now time.Time) plan {
	first := e.after(cursor)
	if first.IsZero() {
		return plan{}
	}
	cutoff := now.Add(-e.job.Grace - e.job.Jitter)
	newest := e.newestDue(first, now)
	if !first.Before(cutoff) {
		if newest.After(first) && (e.job.Overlap == OverlapSkip && !e.job.concurrent() || e.job.Overlap == OverlapReplace) {
			return e.oweAll(first, newest, nil) // they would collide
		}
		return plan{
			due: first.Add(e.jitter(first)), tick: first, run: true, trigger: TriggerSchedule,
			cursor: cursor, until: first.Add(e.job.Grace + e.job.Jitter),
		}
	}
	// first, and all up to last, are later than their grace allows.
	last := e.lastBefore(first, cutoff)
	missed := plan{due: last, tick: last, trigger: TriggerMisfire}
	switch e.job.Misfire {
	case MisfireSkip:
		missed.skipped = &gap{first, last, "misfire: no node could run it in time, and Misfire is skip"}
		return missed
	case MisfireAll:
		if newest.Before(last) {
			newest = last
		}
		oldest := e.oldestKept(first, newest)
		var skipped *gap
		if oldest.After(first) {
			why := fmt.Sprintf("misfire: older than the newest %d, which MisfireCap allows to run", e.job.MisfireCap)
			skipped = &gap{first, e.lastBefore(first, oldest), why}
		}
		return e.oweAll(oldest, newest, skipped)
	}
	// Once: a tick that is due and in time stands for the missed ones, else the newest of these does.
	missed.run = true
	skipTo := last
	if on := e.after(last); !on.IsZero() && !on.Add(e.jitter(on)).After(now) {
		missed.tick, missed.trigger = on, TriggerSchedule
	} else if last.After(first) {
		skipTo = e.lastBefore(first, last)
	} else {
		return missed
	}
	missed.due = missed.tick
	missed.skipped = &gap{first, skipTo, fmt.Sprintf("misfire: %s is run once for all that were missed",
		missed.tick.UTC().Format(time.RFC3339))}
	return missed
}

// tickAfter returns the first tick of a schedule after t, zero if there is none. Ticks are kept to the microsecond,
// rounded up, so that the tick after a rounded one is a later one.
func tickAfter(s cron.Schedule, zone *time.Location, t time.Time) time.Time {
	next := s.Next(t.In(zone))
	if next.IsZero() || !next.After(t) {
		return time.Time{} // a schedule that stands still would never stop running
	}
	if cut := next.Truncate(time.Microsecond); !cut.Equal(next) {
		next = cut.Add(time.Microsecond)
	}
	if next = next.UTC(); next.Year() > maxYear {
		return time.Time{} // as good as never
	}
	return next
}

// lastBefore returns the last tick before end. first is a tick before end. A schedule only looks forward, so this
// halves the stretch in question: last is a tick, and there is none from hi to end, hi excluded.
func (e *entry) lastBefore(first, end time.Time) time.Time {
	last := first
	for hi := end.Add(-time.Microsecond); hi.After(last); {
		middle := last.Add(hi.Sub(last) / 2).Truncate(time.Microsecond)
		if next := e.after(middle); !next.IsZero() && next.Before(end) {
			last = next
		} else {
			hi = middle
		}
	}
	return last
}

// oldestKept returns the first of the newest MisfireCap ticks from first to last.
func (e *entry) oldestKept(first, last time.Time) time.Time {
	n := 1
	for t := first; t.Before(last) && n <= e.job.MisfireCap; n++ {
		t = e.after(t)
	}
	if n <= e.job.MisfireCap {
		return first
	}
	oldest := last
	for range e.job.MisfireCap - 1 {
		if !oldest.After(first) {
			return first
		}
		oldest = e.lastBefore(first, oldest)
	}
	return oldest
}

// maxCount is where counting the ticks of a gap ends: a job of every second that was away for a year has missed more
// than anybody wants to wait for.
const maxCount = 10_000

// count returns the number of ticks in a gap, maxCount at most.
func (e *entry) count(g *gap) int64 {
	n := int64(1)
	for t := g.first; t.Before(g.last) && n < maxCount; n++ {
		t = e.after(t)
	}
	return n
}

// jitter returns the delay of a tick: a hash of name and tick, spread over Job.Jitter.
func (e *entry) jitter(tick time.Time) time.Duration {
	if e.job.Jitter == 0 {
		return 0
	}
	x := spread.Mix(e.hash ^ spread.Mix(uint64(tick.UnixMicro())))
	return time.Duration(x % uint64(e.job.Jitter)).Truncate(time.Microsecond)
}
