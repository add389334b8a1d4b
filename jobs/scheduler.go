package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Scheduler runs jobs, each tick on one of the nodes that share its store. One per process is enough; all methods may
// be called concurrently.
type Scheduler struct {
	cfg   Config
	locks *lockrt.Locker
	clock *clock
	lease time.Duration // of a claim; renewed three times as often

	idPrefix string // random: makes run ids unique over all processes
	idCount  atomic.Uint64

	wake    chan struct{}  // tells the loop of added jobs
	runs    sync.WaitGroup // goroutines of runs; started by the loop and by each other, so never from zero in a drain
	keeping sync.WaitGroup // the keeper of claims, which ends after them

	mu      sync.Mutex // guards what follows, and mark and wake of the entries
	state   state
	entries map[string]*entry
	added   []*entry         // not yet seen by the loop
	live    map[string]*live // runs of this node by their current id
	perJob  map[string]int   // their number by job
	down    error            // why the store could not be asked last
	since   time.Time        // since when
}

type state int

const (
	fresh state = iota
	started
	ended
)

// claimLease is how long after the last sign of life of a node its runs are left to it. It does not limit how long
// they take.
const claimLease = 15 * time.Second

// New returns a scheduler that takes its locks from locks. It contacts nothing; see [Scheduler.Run].
func New(locks *lockrt.Locker, cfg Config) (*Scheduler, error) {
	if locks == nil {
		return nil, errors.New("jobs.New: it needs a Locker, from lockrt.New or lockrt.Open")
	}
	cfg, err := cfg.withDefaults(locks)
	if err != nil {
		return nil, err
	}
	return &Scheduler{
		cfg: cfg, locks: locks, clock: newClock(time.Now), lease: claimLease,
		idPrefix: strings.ToLower(rand.Text()[:12]) + ".",
		wake:     make(chan struct{}, 1),
		entries:  make(map[string]*entry), live: make(map[string]*live), perJob: make(map[string]int),
	}, nil
}

// Add adds a job, before or during [Scheduler.Run]. It blocks on nothing. The job's first tick is the first after the
// store saw the job's name for the first time, on any node. The error names everything that is wrong with j.
func (s *Scheduler) Add(j Job) error {
	e, err := j.prepare(s.cfg.Location)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == ended {
		return fmt.Errorf("add job %q: the scheduler has ended; make a new one", j.Name)
	}
	if s.entries[j.Name] != nil {
		return fmt.Errorf("add job %q: the scheduler has a job of that name; give each its own, runs are recorded under it", j.Name)
	}
	s.entries[j.Name] = e
	s.added = append(s.added, e)
	select {
	case s.wake <- struct{}{}:
	default: // the loop has not yet seen the last signal, and will see this job with it
	}
	return nil
}

// Locker returns the Locker that was given to New.
func (s *Scheduler) Locker() *lockrt.Locker { return s.locks }

// Info describes a job of a scheduler.
type Info struct {
	Job  Job       // with its defaults
	Mark time.Time // up to which tick all is decided, as this node last heard; zero before the first contact
	Next time.Time // the first tick after that
}

// Jobs returns the jobs, sorted by name. It does not ask the store.
func (s *Scheduler) Jobs() []Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	infos := make([]Info, 0, len(s.entries))
	for _, e := range s.entries {
		info := Info{Job: e.job, Mark: e.mark}
		from := e.mark
		if from.IsZero() {
			from = s.clock.now()
		}
		info.Next = e.after(from)
		infos = append(infos, info)
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.Job.Name, b.Job.Name) })
	return infos
}

// Runs returns the records of a job, the latest recorded first, limit at most. It blocks until the store has answered
// or ctx ends.
func (s *Scheduler) Runs(ctx context.Context, job string, limit int) ([]Run, error) {
	runs, err := s.cfg.Store.Runs(ctx, job, limit)
	if err != nil {
		return nil, fmt.Errorf("list the last %d runs: %w", limit, err)
	}
	return runs, nil
}

// Err returns nil while the store answers, and else what it said, and since when. Ticks are late meanwhile, not lost:
// the mark is in the store, and Job.Misfire decides when it is back.
func (s *Scheduler) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down == nil {
		return nil
	}
	return fmt.Errorf("job store unavailable since %s: %w", s.since.UTC().Format(time.RFC3339), s.down)
}

func (s *Scheduler) newID() string { return s.idPrefix + strconv.FormatUint(s.idCount.Add(1), 36) }
