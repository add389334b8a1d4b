package memstore

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// Store implements [jobs.Store]. The zero value is not usable; see [New].
type Store struct {
	now func() time.Time

	mu         sync.Mutex // guards what follows
	jobs       map[string]*job
	flights    map[string]*jobs.InFlight // by run ID
	alive      map[string]time.Time      // until when, by session
	notices    map[string]notice
	waiting    map[string]jobs.OneOff
	past       map[string]time.Time // the one-off jobs of the last day, by ID
	nodes      map[string]jobs.Node // by session
	failures   []jobs.Run           // the last KeptFailures, oldest first
	stamp      string               // tells this store from one that forgot
	heartbeats map[string]time.Time // last heartbeat by session
	names      []string             // of jobs, sorted; see sorted
}

type job struct {
	owed     []jobs.Span
	cursor   time.Time   // zero: it was never registered
	paused   *jobs.Pause // nil: it is not
	switched int64       // version of the last pause or resume
	missed   int64
	runs     []jobs.Run // oldest first
	recorded time.Time  // when the last of them was
	madeUp   time.Time  // the cursor that it was given for want of a better
	spec     spec
}

// joinDepth is how many records are looked at for one that a skipped tick may share: there are as many reasons in turn
// as there are nodes that may hold a lock.
const joinDepth = 32

type notice struct {
	jobs.Notice
	owner string // whom it is for; "": whoever has the run
}

// New returns an empty store.
func New() *Store { return NewAt(time.Now) }

// NewAt returns an empty store that goes by a clock of the caller.
func NewAt(now func() time.Time) *Store {
	return &Store{
		now:  func() time.Time { return now().UTC().Truncate(time.Microsecond) },
		jobs: make(map[string]*job), flights: make(map[string]*jobs.InFlight), alive: make(map[string]time.Time),
		notices: make(map[string]notice), waiting: make(map[string]jobs.OneOff), past: make(map[string]time.Time),
		nodes: make(map[string]jobs.Node), stamp: rand.Text(), heartbeats: make(map[string]time.Time),
	}
}

// Parts implements [Store]: all is in one.
func (s *Store) Parts() int { return 1 }

// PartOf implements [Store].
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

// job returns the state of a job. It needs mu.
func (s *Store) job(name string) *job {
	j := s.jobs[name]
	if j == nil {
		j = &job{}
		s.jobs[name] = j
	}
	return j
}

// record adds a record. Ticks that are skipped share one with those skipped for the same reason since the last run.
func (j *job) record(r jobs.Run, keep int, now time.Time) {
	j.recorded = now
	for i := len(j.runs) - 1; i >= max(len(j.runs)-joinDepth, 0) && j.runs[i].Outcome == jobs.OutcomeSkipped; i-- {
		if joined, ok := r.Join(j.runs[i]); ok {
			r, j.runs = joined, slices.Delete(j.runs, i, i+1)
			break
		}
	}
	j.runs = append(j.runs, r)
	if extra := len(j.runs) - keep; extra > 0 {
		j.runs = slices.Delete(j.runs, 0, extra)
	}
}

func (s *Store) Look(ctx context.Context, names []string) (v jobs.View, err error) {
	err = s.do(ctx, func(now time.Time) error {
		v.Now = now
		inFlight := make(map[string][]jobs.InFlight)
		for _, id := range slices.Sorted(maps.Keys(s.flights)) {
			p := s.flights[id]
			inFlight[p.Run.Job] = append(inFlight[p.Run.Job], *p)
		}
		for _, name := range names {
			view := jobs.JobView{InFlight: inFlight[name]}
			if j := s.jobs[name]; j != nil {
				view.Cursor, view.Paused, view.Missed = j.cursor, j.paused, j.missed
				view.Spec = j.spec.view(name, j.cursor)
				view.Owed = slices.Clone(j.owed)
			}
			v.Jobs = append(v.Jobs, view)
		}
		return nil
	})
	return v, err
}

func (s *Store) Cursors(ctx context.Context, names []string) ([]time.Time, error) {
	cursors := make([]time.Time, len(names))
	err := s.do(ctx, func(time.Time) error {
		for i, name := range names {
			if j := s.jobs[name]; j != nil {
				cursors[i] = j.cursor
			}
		}
		return nil
	})
	return cursors, err
}

func (s *Store) InFlight(ctx context.Context) (all []jobs.InFlight, err error) {
	err = s.do(ctx, func(time.Time) error {
		for _, p := range s.flights {
			all = append(all, *p)
		}
		return nil
	})
	return all, err
}

func (s *Store) Runs(ctx context.Context, names []string, limit int) ([][]jobs.Run, error) {
	all := make([][]jobs.Run, len(names))
	err := s.do(ctx, func(time.Time) error {
		for i, name := range names {
			if j := s.jobs[name]; j != nil && limit > 0 {
				all[i] = slices.Clone(j.runs[max(len(j.runs)-limit, 0):])
				slices.Reverse(all[i])
			}
		}
		return nil
	})
	return all, err
}

func (s *Store) Nodes(ctx context.Context) (nodes []jobs.Node, err error) {
	err = s.do(ctx, func(now time.Time) error {
		for session, n := range s.nodes {
			if now.Sub(n.Heartbeat) > jobs.NodeRetention {
				delete(s.nodes, session)
				continue
			}
			nodes = append(nodes, n)
		}
		return nil
	})
	slices.SortFunc(nodes, jobs.Node.Compare)
	return nodes, err
}

func (s *Store) Pause(ctx context.Context, job string, p jobs.Pause) (state jobs.PauseState, err error) {
	err = s.do(ctx, func(now time.Time) error {
		j := s.jobs[job]
		if j == nil || j.cursor.IsZero() {
			return jobs.ErrUnknownJob
		}
		if p.At = p.At.UTC().Truncate(time.Microsecond); j.paused != nil {
			p.At = j.paused.At
		}
		j.switched = max(now.UnixMicro(), j.switched+1)
		p.Version = j.switched
		j.paused = &p
		state = jobs.PauseState{Job: job, Version: p.Version, Pause: &p}
		return nil
	})
	return state, err
}

func (s *Store) Resume(
	ctx context.Context, job string, version int64, record jobs.Run, keep int,
) (state jobs.PauseState, err error) {
	err = s.do(ctx, func(now time.Time) error {
		j := s.jobs[job]
		if j == nil || j.paused == nil || j.paused.Version != version {
			return jobs.ErrGone
		}
		j.paused, j.switched = nil, max(now.UnixMicro(), j.switched+1)
		if now.After(j.cursor) {
			j.cursor = now
		}
		j.record(record, keep, now)
		state = jobs.PauseState{Job: job, Version: j.switched}
		return nil
	})
	return state, err
}
