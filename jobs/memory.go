package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"time"
)

// memoryStore is the model: what the Redis store does in scripts, it does under a mutex.
type memoryStore struct {
	now func() time.Time

	mu         sync.Mutex // guards what follows
	jobs       map[string]*memoryJob
	flights    map[string]*InFlight // by run ID
	alive      map[string]time.Time // until when, by session
	notices    map[string]memoryNotice
	waiting    map[string]OneOff
	past       map[string]time.Time // the one-off jobs of the last day, by ID
	nodes      map[string]Node      // by session
	failures   []Run                // the last keptFailures, oldest first
	stamp      string               // tells this store from one that forgot
	heartbeats map[string]time.Time // last heartbeat by session
	names      []string             // of jobs, sorted; see sorted
}

type memoryJob struct {
	owed     []Span
	cursor   time.Time // zero: it was never registered
	paused   *Pause    // nil: it is not
	switched int64     // version of the last pause or resume
	missed   int64
	runs     []Run     // oldest first
	recorded time.Time // when the last of them was
	madeUp   time.Time // the cursor that it was given for want of a better
	spec     memorySpec
}

// joinDepth is how many records are looked at for one that a skipped tick may share: there are as many reasons in turn
// as there are nodes that may hold a lock.
const joinDepth = 32

type memoryNotice struct {
	Notice
	owner string // whom it is for; "": whoever has the run
}

// NewMemoryStore returns a store in the memory of this process, for programs with one process and for tests. Schedulers
// that share it share their jobs; all is forgotten when the process ends.
func NewMemoryStore() Store { return newMemoryStore(time.Now) }

func newMemoryStore(now func() time.Time) *memoryStore {
	return &memoryStore{
		now:  func() time.Time { return now().UTC().Truncate(time.Microsecond) },
		jobs: make(map[string]*memoryJob), flights: make(map[string]*InFlight), alive: make(map[string]time.Time),
		notices: make(map[string]memoryNotice), waiting: make(map[string]OneOff), past: make(map[string]time.Time),
		nodes: make(map[string]Node), stamp: rand.Text(), heartbeats: make(map[string]time.Time),
	}
}

// Parts implements [Store]: all is in one.
func (s *memoryStore) Parts() int { return 1 }

// PartOf implements [Store].
func (s *memoryStore) PartOf(string) int { return 0 }

// do runs change under the mutex, unless ctx has ended.
func (s *memoryStore) do(ctx context.Context, change func(now time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return change(s.now())
}

// job returns the state of a job. It needs mu.
func (s *memoryStore) job(name string) *memoryJob {
	j := s.jobs[name]
	if j == nil {
		j = &memoryJob{}
		s.jobs[name] = j
	}
	return j
}

// record adds a record. Ticks that are skipped share one with those skipped for the same reason since the last run.
func (j *memoryJob) record(r Run, keep int, now time.Time) {
	j.recorded = now
	for i := len(j.runs) - 1; i >= max(len(j.runs)-joinDepth, 0) && j.runs[i].Outcome == OutcomeSkipped; i-- {
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

func (s *memoryStore) Look(ctx context.Context, jobs []string) (v View, err error) {
	err = s.do(ctx, func(now time.Time) error {
		v.Now = now
		inFlight := make(map[string][]InFlight)
		for _, id := range slices.Sorted(maps.Keys(s.flights)) {
			p := s.flights[id]
			inFlight[p.Run.Job] = append(inFlight[p.Run.Job], *p)
		}
		for _, name := range jobs {
			view := JobView{InFlight: inFlight[name]}
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

func (s *memoryStore) Cursors(ctx context.Context, jobs []string) ([]time.Time, error) {
	cursors := make([]time.Time, len(jobs))
	err := s.do(ctx, func(time.Time) error {
		for i, name := range jobs {
			if j := s.jobs[name]; j != nil {
				cursors[i] = j.cursor
			}
		}
		return nil
	})
	return cursors, err
}

func (s *memoryStore) InFlight(ctx context.Context) (all []InFlight, err error) {
	err = s.do(ctx, func(time.Time) error {
		for _, p := range s.flights {
			all = append(all, *p)
		}
		return nil
	})
	return all, err
}

func (s *memoryStore) Runs(ctx context.Context, jobs []string, limit int) ([][]Run, error) {
	all := make([][]Run, len(jobs))
	err := s.do(ctx, func(time.Time) error {
		for i, name := range jobs {
			if j := s.jobs[name]; j != nil && limit > 0 {
				all[i] = slices.Clone(j.runs[max(len(j.runs)-limit, 0):])
				slices.Reverse(all[i])
			}
		}
		return nil
	})
	return all, err
}

func (s *memoryStore) Nodes(ctx context.Context) (nodes []Node, err error) {
	err = s.do(ctx, func(now time.Time) error {
		for session, n := range s.nodes {
			if now.Sub(n.Heartbeat) > nodeRetention {
				delete(s.nodes, session)
				continue
			}
			nodes = append(nodes, n)
		}
		return nil
	})
	slices.SortFunc(nodes, byName)
	return nodes, err
}

func byName(a, b Node) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), a.Started.Compare(b.Started))
}

func (s *memoryStore) Pause(ctx context.Context, job string, p Pause) (state PauseState, err error) {
	err = s.do(ctx, func(now time.Time) error {
		j := s.jobs[job]
		if j == nil || j.cursor.IsZero() {
			return ErrUnknownJob
		}
		if p.At = p.At.UTC().Truncate(time.Microsecond); j.paused != nil {
			p.At = j.paused.At
		}
		j.switched = max(now.UnixMicro(), j.switched+1)
		p.Version = j.switched
		j.paused = &p
		state = PauseState{Job: job, Version: p.Version, Pause: &p}
		return nil
	})
	return state, err
}

func (s *memoryStore) Resume(
	ctx context.Context, job string, version int64, record Run, keep int,
) (state PauseState, err error) {
	err = s.do(ctx, func(now time.Time) error {
		j := s.jobs[job]
		if j == nil || j.paused == nil || j.paused.Version != version {
			return ErrGone
		}
		j.paused, j.switched = nil, max(now.UnixMicro(), j.switched+1)
		if now.After(j.cursor) {
			j.cursor = now
		}
		j.record(record, keep, now)
		state = PauseState{Job: job, Version: j.switched}
		return nil
	})
	return state, err
}
