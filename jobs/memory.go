package jobs

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// memoryStore is the model: what the Redis store does in scripts, it does under a mutex.
type memoryStore struct {
	now func() time.Time

	mu   sync.Mutex // guards what follows
	jobs map[string]*memoryJob
}

type memoryJob struct {
	mark   time.Time
	claims map[string]*memoryClaim
	runs   []Run // oldest first
}

type memoryClaim struct {
	Pending
	until time.Time
}

// NewMemoryStore returns a store in the memory of this process, for programs with one process and for tests. Schedulers
// that share it share their jobs; all is forgotten when the process ends.
func NewMemoryStore() Store { return newMemoryStore(time.Now) }

func newMemoryStore(now func() time.Time) *memoryStore {
	return &memoryStore{now: func() time.Time { return now().UTC().Truncate(time.Microsecond) }, jobs: make(map[string]*memoryJob)}
}

// job returns the state of a job, made on first sight. It needs mu.
func (s *memoryStore) job(name string) *memoryJob {
	j := s.jobs[name]
	if j == nil {
		j = &memoryJob{mark: s.now(), claims: make(map[string]*memoryClaim)}
		s.jobs[name] = j
	}
	return j
}

func (s *memoryStore) Look(ctx context.Context, jobs []string) (View, error) {
	if err := ctx.Err(); err != nil {
		return View{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range jobs {
		s.job(name)
	}
	v := View{Now: s.now()} // not before the marks that were made just now
	for _, name := range jobs {
		j := s.job(name)
		view := JobView{Mark: j.mark}
		for _, id := range slices.Sorted(maps.Keys(j.claims)) {
			p := j.claims[id].Pending
			p.Left = j.claims[id].until.Sub(v.Now)
			view.Claims = append(view.Claims, p)
		}
		v.Jobs = append(v.Jobs, view)
	}
	return v, nil
}

func (s *memoryStore) Claim(ctx context.Context, claims []Claim) []Claimed {
	s.mu.Lock()
	defer s.mu.Unlock()
	results := make([]Claimed, len(claims))
	for i, c := range claims {
		if err := ctx.Err(); err != nil {
			results[i].Err = err
			continue
		}
		results[i] = s.claim(c)
	}
	return results
}

func (s *memoryStore) claim(c Claim) Claimed {
	j, now := s.job(c.Job), s.now()
	switch {
	case j.mark.Equal(c.Tick) && c.Pending != nil && j.claims[c.Pending.Run.ID] != nil:
		return Claimed{Status: ClaimWon, Mark: j.mark, Now: now}
	case !j.mark.Equal(c.Prev):
		return Claimed{Status: ClaimTaken, Mark: j.mark, Now: now}
	case c.Due.After(now):
		return Claimed{Status: ClaimEarly, Mark: j.mark, Now: now}
	}
	j.mark = c.Tick
	if c.Skipped != nil {
		j.record(*c.Skipped, c.Keep)
	}
	if c.Pending != nil {
		j.claims[c.Pending.Run.ID] = &memoryClaim{Pending: *c.Pending, until: now.Add(c.Lease)}
	}
	return Claimed{Status: ClaimWon, Mark: j.mark, Now: now}
}

func (j *memoryJob) record(r Run, keep int) {
	j.runs = append(j.runs, r)
	if extra := len(j.runs) - keep; extra > 0 {
		j.runs = slices.Delete(j.runs, 0, extra)
	}
}

func (s *memoryStore) Start(ctx context.Context, p Pending, lease time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.job(p.Run.Job).claims[p.Run.ID]
	if c == nil {
		return ErrGone
	}
	c.Pending, c.until = p, s.now().Add(lease)
	return nil
}

func (s *memoryStore) Renew(ctx context.Context, runs []RunRef, lease time.Duration) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := make([]error, len(runs))
	for i, r := range runs {
		c := s.job(r.Job).claims[r.ID]
		switch {
		case ctx.Err() != nil:
			errs[i] = ctx.Err()
		case c == nil:
			errs[i] = ErrGone
		default:
			c.until = s.now().Add(lease)
		}
	}
	return errs
}

func (s *memoryStore) Finish(ctx context.Context, f Finish) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j, now := s.job(f.Run.Job), s.now()
	c := j.claims[f.Run.ID]
	if c == nil || f.Orphan && c.until.After(now) {
		return ErrGone
	}
	delete(j.claims, f.Run.ID)
	if f.Run.Outcome != "" {
		j.record(f.Run, f.Keep)
	}
	if f.Next != nil {
		j.claims[f.Next.Run.ID] = &memoryClaim{Pending: *f.Next, until: now.Add(f.Lease)}
	}
	return nil
}

func (s *memoryStore) Runs(ctx context.Context, job string, limit int) ([]Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[job]
	if j == nil || limit <= 0 {
		return nil, nil
	}
	runs := slices.Clone(j.runs[max(len(j.runs)-limit, 0):])
	slices.Reverse(runs)
	return runs, nil
}
