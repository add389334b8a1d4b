package memstore

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/ledger"
)

// Store implements [jobs.Store]. The zero value is not usable; see [New].
type Store struct {
	now func() time.Time

	mu         sync.Mutex // guards what follows
	state      *ledger.State
	nodes      map[string]jobs.Node // by session
	heartbeats map[string]int       // how many, by session
	stamp      string               // tells this store from one that forgot
	names      []string             // of jobs, sorted; see sorted
	mostPast   int                  // how much of the past there is when what is old is looked for again
}

// New returns an empty store.
func New() *Store { return NewAt(time.Now) }

// NewAt returns an empty store that uses the caller's clock.
func NewAt(now func() time.Time) *Store {
	return &Store{
		now:   func() time.Time { return now().UTC().Truncate(time.Microsecond) },
		state: ledger.NewState(), nodes: make(map[string]jobs.Node), heartbeats: make(map[string]int),
		stamp: rand.Text(),
	}
}

// Parts implements [jobs.Store]. There is one part.
func (s *Store) Parts() int { return 1 }

// PartOf implements [jobs.Store].
func (s *Store) PartOf(string) int { return 0 }

// do runs change under the mutex, unless ctx has ended.
func (s *Store) do(ctx context.Context, change func(now time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return change(s.now())
}

// Register implements [jobs.Store].
func (s *Store) Register(ctx context.Context, r jobs.Registration) (jobs.View, error) {
	names := make([]string, len(r.Offers))
	versions, refused := make([]int64, len(r.Offers)), make([]string, len(r.Offers))
	err := s.do(ctx, func(now time.Time) error {
		for i := range r.Offers {
			names[i] = r.Offers[i].Definition.Job
			versions[i], refused[i] = s.state.Register(&r, &r.Offers[i], now)
		}
		return nil
	})
	if err != nil {
		return jobs.View{}, err
	}
	view, err := s.Look(ctx, names)
	for i := range view.Jobs {
		view.Jobs[i].Version, view.Jobs[i].Refused = versions[i], refused[i]
	}
	return view, err
}

// Retire implements [jobs.Store].
func (s *Store) Retire(ctx context.Context, job, epoch string) error {
	return s.do(ctx, func(time.Time) error { return s.state.Retire(job, epoch) })
}

// Claim implements [jobs.Store].
func (s *Store) Claim(ctx context.Context, claims []jobs.Claim) []jobs.Claimed {
	results := make([]jobs.Claimed, len(claims))
	for i, c := range claims {
		results[i].Err = s.do(ctx, func(now time.Time) error {
			if c.Manual && c.InFlight != nil {
				s.forgetPast(ledger.AskedFor(c.InFlight.Run.ID), now)
			}
			results[i] = s.state.Claim(c, now)
			return nil
		})
	}
	return results
}

// Start implements [jobs.Store].
func (s *Store) Start(ctx context.Context, starts []jobs.Start) []error {
	errs := make([]error, len(starts))
	for i, b := range starts {
		errs[i] = s.do(ctx, func(now time.Time) error { return s.state.Start(b, now) })
	}
	return errs
}

// Finish implements [jobs.Store].
func (s *Store) Finish(ctx context.Context, finishes []jobs.Finish) []error {
	errs := make([]error, len(finishes))
	for i, f := range finishes {
		errs[i] = s.do(ctx, func(now time.Time) error {
			err := s.state.Finish(f, now)
			if extra := len(s.state.Failures) - jobs.KeptFailures; extra > 0 {
				s.state.Failures = slices.Delete(s.state.Failures, 0, extra)
			}
			return err
		})
	}
	return errs
}

// Cancel implements [jobs.Store].
func (s *Store) Cancel(ctx context.Context, n jobs.Notice) error {
	return s.do(ctx, func(time.Time) error { return s.state.Cancel(n) })
}

// Pause implements [jobs.Store].
func (s *Store) Pause(ctx context.Context, job string, p jobs.Pause) (stands jobs.PauseState, err error) {
	err = s.do(ctx, func(now time.Time) (err error) {
		stands, err = s.state.Pause(job, p, now)
		return err
	})
	return stands, err
}

// Resume implements [jobs.Store].
func (s *Store) Resume(
	ctx context.Context, job string, version int64, record jobs.Run, keep int,
) (stands jobs.PauseState, err error) {
	err = s.do(ctx, func(now time.Time) (err error) {
		stands, err = s.state.Resume(job, version, record, keep, now)
		return err
	})
	return stands, err
}

// Restore implements [jobs.Store].
func (s *Store) Restore(ctx context.Context, m jobs.Memory) error {
	return s.do(ctx, func(now time.Time) error {
		s.state.Restore(m, now)
		return nil
	})
}

// Put implements [jobs.Store].
func (s *Store) Put(ctx context.Context, o jobs.OneOff) error {
	if err := o.Check(); err != nil {
		return err
	}
	return s.do(ctx, func(now time.Time) error {
		s.forgetPast(o.ID, now)
		s.state.Put(o, now)
		return nil
	})
}

// keptPast is how much of the past is kept at least before what is old is looked for.
const keptPast = 1000

// forgetPast forgets what was claimed long ago: what has this ID, and the rest when it has grown to twice as much. It
// needs mu.
func (s *Store) forgetPast(id string, now time.Time) {
	past := s.state.Past
	isOld := func(_ string, at time.Time) bool { return now.Sub(at) > jobs.OneOffRetention }
	if at, ok := past[id]; ok && isOld(id, at) {
		delete(past, id)
	}
	if len(past) >= s.mostPast {
		maps.DeleteFunc(past, isOld)
		s.mostPast = 2*len(past) + keptPast
	}
}

// Withdraw implements [jobs.Store].
func (s *Store) Withdraw(ctx context.Context, id string) error {
	return s.do(ctx, func(time.Time) error { return s.state.Withdraw(id) })
}
