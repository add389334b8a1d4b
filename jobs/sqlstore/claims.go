package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/ledger"
)

// stepSize is how many elements one transaction is about: enough that round trips do not count, few enough that others
// do not wait for the rows for long.
const stepSize = 512

// Register implements jobs.Store.
func (s *Store) Register(ctx context.Context, r jobs.Registration) (jobs.View, error) {
	names := make([]string, 0, len(r.Offers))
	versions, refused := make([]int64, len(r.Offers)), make([]string, len(r.Offers))
	locked := make([]error, len(r.Offers))
	first := 0
	for offers := range slices.Chunk(r.Offers, stepSize) {
		n := &need{spec: true, shares: true}
		for _, o := range offers {
			names = append(names, o.Definition.Job)
			n.jobs.add(o.Definition.Job)
		}
		err := s.step(ctx, n, func(state *ledger.State, now time.Time) {
			for i := range offers {
				if locked[first+i] = n.left(offers[i].Definition.Job); locked[first+i] == nil {
					versions[first+i], refused[first+i] = state.Register(&r, &offers[i], now)
				}
			}
		})
		if err != nil {
			return jobs.View{}, s.in(err, "register %d jobs", len(r.Offers))
		}
		first += len(offers)
	}
	view, err := s.Look(ctx, names)
	for i := range view.Jobs {
		view.Jobs[i].Version, view.Jobs[i].Refused, view.Jobs[i].Err = versions[i], refused[i], locked[i]
	}
	return view, err
}

// Retire implements jobs.Store.
func (s *Store) Retire(ctx context.Context, job, epoch string) error {
	n := &need{spec: true}
	n.jobs.add(job)
	return s.one(ctx, n, func(state *ledger.State, _ time.Time) error { return state.Retire(job, epoch) },
		"retire job %q", job)
}

// one does a step with a single result.
func (s *Store) one(
	ctx context.Context, n *need, change func(*ledger.State, time.Time) error, format string, a ...any,
) error {
	var result error
	if err := s.step(ctx, n, func(state *ledger.State, now time.Time) { result = change(state, now) }); err != nil {
		return s.in(err, format, a...)
	}
	return result
}

// Claim implements jobs.Store.
func (s *Store) Claim(ctx context.Context, claims []jobs.Claim) []jobs.Claimed {
	results := make([]jobs.Claimed, len(claims))
	each(claims, results, func(c *jobs.Claim) string { return c.Job }, func(some []jobs.Claim, answers []jobs.Claimed) {
		n := &need{shares: true, call: true, skipsOneOffs: true}
		for i := range some {
			n.claim(&some[i])
			n.call = n.call && some[i].Manual // which somebody asks for
		}
		err := s.step(ctx, n, func(state *ledger.State, now time.Time) {
			for i, c := range some {
				if n.left(c.Job) == nil {
					answers[i] = state.Claim(c, now)
				}
			}
		})
		for i := range answers {
			if err := cmp.Or(err, n.left(some[i].Job)); err != nil {
				answers[i] = jobs.Claimed{Err: s.in(err, "claim a tick of job %q", some[i].Job)}
			}
		}
	})
	return results
}

// each has f work on the elements, stepSize at a time: one after another where two of them are about one job, which must
// be told of things in their order, and side by side otherwise.
func each[E, R any](elements []E, results []R, job func(*E) string, f func([]E, []R)) {
	var steps sync.WaitGroup
	apart := len(elements) > stepSize && areApart(elements, job)
	for first := 0; first < len(elements); first += stepSize {
		end := min(first+stepSize, len(elements))
		steps.Go(func() { f(elements[first:end], results[first:end]) })
		if !apart {
			steps.Wait()
		}
	}
	steps.Wait()
}

func areApart[E any](elements []E, job func(*E) string) bool {
	seen := make(map[string]bool, len(elements))
	for i := range elements {
		name := job(&elements[i])
		if seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

func (n *need) claim(c *jobs.Claim) {
	n.jobs.add(c.Job)
	if c.InFlight != nil {
		n.runs.add(c.InFlight.Run.ID)
	}
	if c.OneOff != "" {
		n.oneOffs.add(c.OneOff)
	}
	if c.Manual && c.InFlight != nil {
		n.oneOffs.add(ledger.AskedFor(c.InFlight.Run.ID))
	}
	if c.Owed {
		n.runsOf.add(c.Job)
	}
	if c.Skipped != nil {
		n.record(c.Skipped, c.Keep)
	}
}

// Start implements jobs.Store.
func (s *Store) Start(ctx context.Context, starts []jobs.Start) []error {
	errs := make([]error, len(starts))
	each(starts, errs, func(s *jobs.Start) string { return s.Run.Job }, func(some []jobs.Start, answers []error) {
		n := &need{shares: true}
		for i := range some {
			n.jobs.add(some[i].Run.Job)
			n.runs.add(some[i].Run.ID)
		}
		err := s.step(ctx, n, func(state *ledger.State, now time.Time) {
			for i, b := range some {
				if n.left(b.Run.Job) == nil {
					answers[i] = state.Start(b, now)
				}
			}
		})
		for i := range some {
			s.fail(&answers[i], cmp.Or(err, n.left(some[i].Run.Job)), "note that a run begins")
		}
	})
	return errs
}

// fail has an answer say why there is none.
func (s *Store) fail(answer *error, err error, doing string) {
	if err != nil {
		*answer = s.in(err, "%s", doing)
	}
}

// Finish implements jobs.Store.
func (s *Store) Finish(ctx context.Context, finishes []jobs.Finish) []error {
	errs := make([]error, len(finishes))
	each(finishes, errs, func(f *jobs.Finish) string { return f.Run.Job }, func(some []jobs.Finish, answers []error) {
		n, failures := &need{shares: true}, 0
		for i := range some {
			n.finish(&some[i])
		}
		left := func(f *jobs.Finish) error {
			return cmp.Or(n.left(jobsOf(f)...), n.leftRun(f.Run.ID), n.leftSession(f.Owner))
		}
		err := s.step(ctx, n, func(state *ledger.State, now time.Time) {
			for i, f := range some {
				if left(&f) == nil {
					answers[i] = state.Finish(f, now)
				}
			}
			failures = len(state.Failures)
		})
		for i := range some {
			s.fail(&answers[i], cmp.Or(err, left(&some[i])), "end a run")
		}
		s.pruneFailures(ctx, failures)
	})
	return errs
}

// jobsOf are the jobs whose rows the end of a run changes.
func jobsOf(f *jobs.Finish) []string {
	if f.Next != nil {
		return []string{f.Run.Job, f.Next.Run.Job}
	}
	return []string{f.Run.Job}
}

func (n *need) finish(f *jobs.Finish) {
	n.jobs.add(jobsOf(f)...)
	n.runs.add(f.Run.ID)
	if f.Next != nil {
		n.runs.add(f.Next.Run.ID)
	}
	if f.Orphan && f.Owner != jobs.Nobody {
		n.sessions.add(f.Owner)
	}
	if f.Run.Outcome != "" {
		n.record(&f.Run, f.Keep)
	}
}

// Cancel implements jobs.Store.
func (s *Store) Cancel(ctx context.Context, notice jobs.Notice) error {
	n := &need{call: true}
	n.jobs.add(notice.Job)
	n.runs.add(notice.ID)
	return s.one(ctx, n, func(state *ledger.State, _ time.Time) error { return state.Cancel(notice) }, "leave a notice")
}

// Pause implements jobs.Store.
func (s *Store) Pause(ctx context.Context, job string, p jobs.Pause) (stands jobs.PauseState, err error) {
	n := &need{call: true}
	n.jobs.add(job)
	err = s.one(ctx, n, func(state *ledger.State, now time.Time) (err error) {
		stands, err = state.Pause(job, p, now)
		return err
	}, "write its pause")
	return stands, err
}

// Resume implements jobs.Store.
func (s *Store) Resume(
	ctx context.Context, job string, version int64, record jobs.Run, keep int,
) (stands jobs.PauseState, err error) {
	n := &need{call: true}
	n.jobs.add(job)
	record.Job = job
	n.record(&record, keep)
	err = s.one(ctx, n, func(state *ledger.State, now time.Time) (err error) {
		stands, err = state.Resume(job, version, record, keep, now)
		return err
	}, "end its pause")
	return stands, err
}

// Restore implements jobs.Store. One-off jobs come last: a transaction of the application may have locked one.
func (s *Store) Restore(ctx context.Context, m jobs.Memory) error {
	for len(m.Pauses)+len(m.InFlight)+len(m.Waiting)+len(m.Past) > 0 {
		some, n := jobs.Memory{Lease: m.Lease}, new(need)
		some.Pauses, m.Pauses = cut(m.Pauses)
		some.InFlight, m.InFlight = cut(m.InFlight)
		if len(some.Pauses)+len(some.InFlight) == 0 {
			some.Waiting, m.Waiting = cut(m.Waiting)
			if len(m.Waiting) == 0 { // what is over does not wait, whatever comes first
				some.Past, m.Past = cut(m.Past)
			}
		}
		for _, p := range some.Pauses {
			n.jobs.add(p.Job)
		}
		for _, p := range some.InFlight {
			n.jobs.add(p.Run.Job)
			n.runs.add(p.Run.ID)
		}
		for _, o := range some.Waiting {
			n.oneOffs.add(o.ID)
		}
		n.oneOffs.add(some.Past...)
		if err := s.step(ctx, n, func(state *ledger.State, now time.Time) { state.Restore(some, now) }); err != nil {
			return s.in(err, "restore what was lost")
		}
	}
	return nil
}

func cut[E any](all []E) (some, rest []E) {
	n := min(len(all), stepSize)
	return all[:n], all[n:]
}
