package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
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
//
// What asks the store blocks until the store has answered or ctx ends, whatever its client does underneath. The time
// limits of the client may end a call before that, with its error: those of a Redis client with its defaults after 5 to
// 20 s. Of a store of several parts, as on a Redis Cluster, what all parts are asked ends after 3 s, with a
// [*PartsError] if some have answered.
type Scheduler struct {
	cfg       Config
	locks     *lockrt.Locker
	telemetry *telemetry
	lease     time.Duration // of the session
	session   string        // random: the owner of this scheduler's runs
	began     time.Time     // when New was called, by the local clock
	idCount   atomic.Uint64

	parts   []*part // of the store
	reads   *reads
	clocks  *clockWatch
	outage  *outage // of the store of jobs
	locking *outage // of that of locks
	refused *asker  // of the errors of locks
	memory  *memory // for a store that loses data
	live    *liveRuns
	keeping sync.WaitGroup // the heartbeats of the session, which end after the live runs

	// mu guards what follows, and cursor of the entries, and most of the parts. While it is held, one of the mutexes of
	// those above may be taken, or of the clock of a part. While one of these is held, none is taken.
	mu      sync.Mutex
	state   state
	host    *host              // while it runs
	stop    context.CancelFunc // begins the drain
	entries map[string]*entry
}

type state int

const (
	fresh state = iota
	started
	ended
)

// New returns a scheduler that takes its locks from locks. It contacts nothing; see [Scheduler.Run].
func New(locks *lockrt.Locker, cfg Config) (*Scheduler, error) {
	if locks == nil {
		return nil, errors.New("jobs.New: it needs a Locker, from lockrt.New or lockrt.Open")
	}
	cfg, err := cfg.withDefaults(locks)
	if err != nil {
		return nil, err
	}
	cfg.Store = newBoundedStore(cfg.Store)
	telemetry, err := newTelemetry(cfg)
	if err != nil {
		return nil, err
	}
	s := &Scheduler{
		cfg: cfg, locks: locks, telemetry: telemetry, lease: leaseHeartbeats * cfg.Heartbeat,
		session: strings.ToLower(rand.Text()[:12]), began: time.Now(),
		memory:  newMemory(cfg.Store.PartOf),
		entries: make(map[string]*entry), live: newLiveRuns(cfg.Store.Parts()),
		outage:  newOutage(cfg.Logger, "job store", cfg.Store.Parts()),
		locking: newOutage(cfg.Logger, "store of locks", 1),
		refused: &asker{store: "store of locks"},
	}
	for n := range cfg.Store.Parts() {
		s.parts = append(s.parts, newPart(s, n))
	}
	s.reads = &reads{store: cfg.Store, parts: len(s.parts), lease: s.lease, now: s.oneOffPart().clock.now}
	s.clocks = &clockWatch{parts: s.parts, store: cfg.Store, log: cfg.Logger}
	return s, nil
}

// Add adds a job, before or during [Scheduler.Run]. It does not block. The first tick is the first one after the store
// has seen the job's name for the first time, from any node. The error names everything that is wrong with j.
func (s *Scheduler) Add(j Job) error {
	e, err := j.prepare(s.cfg.Location)
	if err != nil {
		return err
	}
	if e.job.sharing() && !s.locks.Shares() {
		return fmt.Errorf("add job %q: it holds a lock to read or by a permit, and the store of locks %T has only locks that one "+
			"holds at a time: %w", brief(j.Name), s.locks.Store(), errors.ErrUnsupported)
	}
	return s.addEntry(e, "add job", j.Name)
}

func (s *Scheduler) addEntry(e *entry, doing, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == ended {
		return fmt.Errorf("%s %q: the scheduler has ended; make a new one", doing, name)
	}
	if s.entries[e.job.Name] != nil {
		return fmt.Errorf("%s %q: the scheduler has a job of that name; give each its own, runs are recorded under it",
			doing, name)
	}
	s.entries[e.job.Name] = e
	e.part = s.partOf(e.job.Name)
	e.part.added = append(e.part.added, e)
	e.part.rouse()
	return nil
}

func (s *Scheduler) entry(job string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[job]
}

// History returns how many records are kept per job; see Config.History.
func (s *Scheduler) History() int { return s.cfg.History }

// Locker returns the Locker that was given to New.
func (s *Scheduler) Locker() *lockrt.Locker { return s.locks }

// Info describes a job of a scheduler, or of the cluster.
type Info struct {
	Job    Job            // with its defaults; jobs of other nodes have no Run, no Schedule and only a part of Lock
	Cursor time.Time      // all ticks up to it are decided, as this node last heard; zero before the first contact
	Next   time.Time      // the first tick after that
	Zone   *time.Location // of Job.Spec: as TZ or the spec say, else Config.Location

	Program string // that the job belongs to, see Config.Program
	Version string // of the program, see Config.Version
	Handler bool   // it is a handler of one-off jobs, and has no ticks

	// Set only by ClusterJobs and ClusterStatus:
	Nodes    []string // names of the nodes that have the job, sorted
	Orphaned bool     // no node has it: it is only remembered

	timings []inForce
}

// Jobs returns the jobs, sorted by name, without handlers of one-off jobs. It does not ask the store.
func (s *Scheduler) Jobs() []Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	infos := make([]Info, 0, len(s.entries))
	for _, e := range s.entries {
		if e.schedule == nil {
			continue
		}
		info := s.info(e)
		from := e.cursor
		if from.IsZero() {
			from = e.part.clock.now()
		}
		info.Next = e.after(from)
		infos = append(infos, info)
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.Job.Name, b.Job.Name) })
	return infos
}

// info needs mu.
func (s *Scheduler) info(e *entry) Info {
	timings := e.timings
	if len(timings) == 0 {
		timings = []inForce{{schedule: e.schedule, zone: e.zone}}
	}
	return Info{
		Job: e.job, Cursor: e.cursor, Zone: e.zone, Program: s.cfg.Program, Version: s.cfg.Version,
		Handler: e.handler != nil, timings: timings,
	}
}

// Now returns this node's estimate of the time on the store's clock. All times in records are on that clock. The
// estimate rests on the last answer of the store that had a time, and before the first answer on the local clock. In a
// Redis Cluster each job uses the clock of the server that has it; Now is the clock of the server with the list of
// nodes.
func (s *Scheduler) Now() time.Time { return s.oneOffPart().clock.now() }

// Err returns nil while the store of jobs and that of locks do what this node asks for. Otherwise the error says what
// the store reported, and since when. What works says nothing of what does not: signs of life may be taken where a full
// disk has no room for runs. A failure that comes back within 10 s counts until it has not come for 10 s. One in claims,
// starts, ends or locks counts until such a thing is done again, and for 90 s if nobody asks for any; others count for
// 10 s if nothing of their kind is asked for again, for 30 s if they have come twice. A transaction of others that has
// locked all that is due counts after 10 s. After Run has returned Err says what was the last.
//
// A single server of a Redis Cluster may be down: the error then says how much of the store is affected, and the jobs
// on the other servers run. A job for which the store fails again and again while it serves others, on whatever node,
// is named, until that has not happened for 10 s, or 30 s if it comes and goes. It is the store that fails if it serves
// nobody meanwhile: it refuses three jobs or more, or all for which it did something in the last 10 s. Ticks are late in
// that time, but not lost: the store keeps the cursor, and Job.Misfire decides when the store is back.
//
// The error also names the jobs that this node does not run because another program has them. It wraps ErrOtherProgram
// then.
func (s *Scheduler) Err() error {
	errs := []error{s.outage.err(), s.locking.err()}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.entries)) {
		if e := s.entries[name]; e.refused != "" {
			errs = append(errs, s.refusal(e, e.refused))
		}
	}
	return errors.Join(errs...)
}

// newID returns the ID of a run: it names the job, see jobOfRun, and is unique over all processes.
func (s *Scheduler) newID(job string) string {
	return job + "@" + s.session + "." + strconv.FormatUint(s.idCount.Add(1), 36)
}
