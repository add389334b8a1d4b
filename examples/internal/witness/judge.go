package witness

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// unreported is how long before its node's death a run may have ended without
// the scheduler having heard of it. Such a run is done again, rightly: nobody
// but the dead node knew that it had ended.
const unreported = 250 * time.Millisecond

// Verdict is the result of Judge.
type Verdict struct {
	Ticks      int // due ticks in the window
	Runs       int // bodies started for them, legitimate repetitions included
	Duplicates int // starts of a tick that had been started, with no reason to repeat it
	Missed     int // due ticks that nobody started
	Lost       int // of these, those that never ended because their node died

	// Problems says in words what Duplicates and Missed count, and what they
	// cannot count: runs that overlap, fences that fall, runs without a tick.
	Problems []string

	// Open counts due ticks that are still to run: nobody started them, or they
	// were lost and nobody has run them again.
	Open int
}

// String is the summary line.
func (v Verdict) String() string {
	return fmt.Sprintf("ticks=%d runs=%d duplicates=%d missed=%d lost=%d", v.Ticks, v.Runs, v.Duplicates, v.Missed, v.Lost)
}

// OK reports whether the scheduler kept its word.
func (v Verdict) OK() bool { return len(v.Problems) == 0 }

func (v *Verdict) problem(format string, args ...any) {
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
}

// run is a Start with its End, if there is one.
type run struct {
	start Event
	end   *Event
}

func (r run) String() string {
	return fmt.Sprintf("%s %s on %s", r.start.Job, r.start.Tick.UTC().Format(time.TimeOnly), r.start.Node)
}

// Deaths says when nodes died. One of that name may have been started again, and have
// died again; the times are in order.
type Deaths map[string][]time.Time

// Of returns when the node of a run died, with the run's process. It is not ok for
// a run of a process that lives.
func (d Deaths) Of(e Event) (died time.Time, ok bool) {
	for _, at := range d[e.Node] {
		if !at.Before(e.At) {
			return at, true
		}
	}
	return time.Time{}, false
}

// Judge compares the events of all nodes with what the jobs' specs ask for. The
// error says that a spec is not understood.
func Judge(jobs []Job, w Window, deaths Deaths, events []Event) (Verdict, error) {
	var v Verdict
	runs := v.pair(events)
	byJob := map[string][]run{}
	for _, r := range runs {
		byJob[r.start.Job] = append(byJob[r.start.Job], r)
		if _, dead := deaths.Of(r.start); r.end == nil && !dead {
			v.problem("never ended although its node lives: %v", r)
		}
	}
	for _, job := range jobs {
		if err := v.job(job, w, deaths, byJob[job.Name]); err != nil {
			return Verdict{}, err
		}
		delete(byJob, job.Name)
	}
	for name, runs := range byJob {
		v.problem("%d runs of %q, which is not a job of this cluster", len(runs), name)
	}
	slices.Sort(v.Problems) // maps were iterated
	return v, nil
}

// pair joins starts and ends, in the order of the starts.
func (v *Verdict) pair(events []Event) []run {
	ends := map[string]*Event{}
	for i, e := range events {
		if e.Kind == End {
			ends[e.Run] = &events[i]
		}
	}
	var runs []run
	for _, e := range events {
		if e.Kind == Start {
			runs = append(runs, run{e, ends[e.Run]})
			delete(ends, e.Run)
		}
	}
	for _, e := range ends {
		v.problem("ended without a start: %v", run{start: *e})
	}
	slices.SortStableFunc(runs, func(a, b run) int {
		return cmp.Or(a.start.At.Compare(b.start.At), cmp.Compare(a.start.Fence, b.start.Fence))
	})
	return runs
}

func (v *Verdict) job(job Job, w Window, deaths Deaths, runs []run) error {
	ticks, err := due(job.Spec, w)
	if err != nil {
		return err
	}
	n, _ := period(job.Spec)
	byTick := map[int64][]run{}
	for _, r := range runs {
		if t := r.start.Tick; t.Nanosecond() != 0 || t.Unix()%n != 0 {
			v.problem("%q has no such tick: %v", job.Spec, r)
		}
		byTick[r.start.Tick.UnixNano()] = append(byTick[r.start.Tick.UnixNano()], r)
	}
	v.Ticks += len(ticks)
	for _, tick := range ticks {
		v.tick(job, tick, byTick[tick.UnixNano()], deaths)
	}
	for _, again := range byTick {
		v.repeats(again, deaths)
	}
	v.sequence(runs, deaths)
	return nil
}

// tick judges one due tick.
func (v *Verdict) tick(job Job, tick time.Time, runs []run, deaths Deaths) {
	v.Runs += len(runs)
	if len(runs) == 0 {
		v.Missed++
		v.problem("missed: %s %s", job.Name, tick.UTC().Format(time.TimeOnly))
	}
	lost := 0
	for _, r := range runs {
		if _, dead := deaths.Of(r.start); dead && r.end == nil {
			lost++
		}
	}
	if v.Lost += lost; lost == len(runs) {
		v.Open++
	}
}

// repeats judges the runs of one tick, in order.
func (v *Verdict) repeats(runs []run, deaths Deaths) {
	for i, r := range runs {
		for _, earlier := range runs[:i] {
			if !mayRepeat(earlier, r, deaths) {
				v.Duplicates++
				v.problem("duplicate: %v, after %v", r, earlier)
				break
			}
		}
	}
}

// mayRepeat reports whether the earlier run of a tick allows the later one.
func mayRepeat(earlier, later run, deaths Deaths) bool {
	if earlier.end != nil && earlier.end.Err != "" {
		return !later.start.At.Before(earlier.end.At)
	}
	died, dead := deaths.Of(earlier.start)
	if !dead || later.start.At.Before(died) {
		return false
	}
	return earlier.end == nil || died.Sub(earlier.end.At) < unreported
}

// sequence checks what no count shows: runs of one job do not overlap, and each
// has a higher fence than the one before.
func (v *Verdict) sequence(runs []run, deaths Deaths) {
	for i := 1; i < len(runs); i++ {
		before, r := runs[i-1], runs[i]
		if over, known := before.over(deaths); known && r.start.At.Before(over) {
			v.problem("overlap: %v started before the end of %v", r, before)
		}
		if r.start.Fence <= before.start.Fence {
			v.problem("fence went from %d to %d: %v, after %v", before.start.Fence, r.start.Fence, r, before)
		}
	}
}

// over says when a run could no longer do anything.
func (r run) over(deaths Deaths) (time.Time, bool) {
	if r.end != nil {
		return r.end.At, true
	}
	died, dead := deaths.Of(r.start)
	return died, dead
}
