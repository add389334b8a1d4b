package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Node is one running scheduler.
type Node struct {
	Name      string    `json:"name"`
	Session   string    `json:"session"` // tells apart nodes of one name
	Started   time.Time `json:"started"`
	Heartbeat time.Time `json:"heartbeat"` // its last heartbeat, see Config.Heartbeat
	// ClockOffset is how far the node's clock is ahead of the store's; negative: behind it.
	ClockOffset time.Duration `json:"clockOffset"`
	Jobs        int           `json:"jobs"`
	Running     int           `json:"running"`
	Draining    bool          `json:"draining,omitempty"`
	History     int           `json:"history,omitempty"` // Config.History
	Program     string        `json:"program,omitempty"` // Config.Program
	Version     string        `json:"version,omitempty"` // Config.Version
}

// Compare orders nodes by name, and nodes of the same name by their start.
func (n Node) Compare(other Node) int {
	return cmp.Or(cmp.Compare(n.Name, other.Name), n.Started.Compare(other.Started))
}

// Nodes returns the nodes of the cluster, sorted by name. A node that was killed stays for ten minutes, with the time
// of its last sign of life. The list is in one part of the store, with the one-off jobs: if only that does not answer,
// the error wraps a [*PartsError]. It blocks until the store has answered or ctx ends.
func (s *Scheduler) Nodes(ctx context.Context) ([]Node, error) {
	nodes, err := s.cfg.Store.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", s.reads.ofOneOffPart(err))
	}
	return nodes, nil
}

// Status is what the cluster knows of a job. Info is what this node has. If this node does not have the job, only the
// name and the cursor are known.
type Status struct {
	Info
	Next    time.Time // the next tick to be claimed; zero if there is none, or the job is paused
	Paused  *Pause    // nil: it is not
	Running []Run     // in flight on any node; Started is zero while it waits for a lock or a retry
	Last    *Run      // the latest record; nil: none
	Missed  int64     // ticks that Job.Misfire has skipped since the store knows the job
}

// Status returns the state of the named jobs in the given order. Without names it returns all jobs of this scheduler,
// sorted by name. The error wraps ErrUnknownJob if neither this node nor the store knows a job. It blocks until the
// store has answered or ctx ends.
func (s *Scheduler) Status(ctx context.Context, jobs ...string) ([]Status, error) {
	if len(jobs) == 0 {
		for _, info := range s.Jobs() {
			jobs = append(jobs, info.Job.Name)
		}
	}
	return s.statuses(ctx, jobs, func(i int, view JobView, now time.Time) (Status,
		error) {
		return s.status(jobs[i], view, now)
	})
}

// statuses asks the store about jobs; what of each says what a job is.
func (s *Scheduler) statuses(
	ctx context.Context, jobs []string, of func(i int, view JobView, now time.Time) (Status, error),
) ([]Status, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	view, err := s.cfg.Store.Look(ctx, jobs)
	if err != nil {
		return nil, fmt.Errorf("look at %d jobs: %w", len(jobs), err)
	}
	records, err := s.cfg.Store.Runs(ctx, jobs, 1)
	if err != nil {
		return nil, fmt.Errorf("list the last runs of %d jobs: %w", len(jobs), err)
	}
	all := make([]Status, len(jobs))
	for i := range jobs {
		if all[i], err = of(i, view.Jobs[i], view.Now); err != nil {
			return nil, err
		}
		all[i].add(&view.Jobs[i], records[i])
	}
	return all, nil
}

// add adds what the store says of the job, and its records.
func (st *Status) add(view *JobView, records []Run) {
	st.Paused, st.Missed = view.Paused, view.Missed
	for _, p := range view.InFlight {
		st.Running = append(st.Running, p.Run)
	}
	if len(records) > 0 {
		st.Last = &records[0]
	}
}

func (s *Scheduler) status(name string, view JobView, now time.Time) (Status, error) {
	st := Status{Info: Info{Job: Job{Name: name}}}
	s.mu.Lock()
	e := s.entries[name]
	s.mu.Unlock()
	if e == nil && view.Cursor.IsZero() {
		return st, fmt.Errorf("look at job %q: %w: no node has ever added it", brief(name), ErrUnknownJob)
	}
	st.Cursor = view.Cursor
	if e != nil && e.schedule != nil {
		from := view.Cursor
		if from.IsZero() {
			from = now
		}
		s.mu.Lock()
		st.Info = s.info(e)
		st.Info.Next = e.after(from)
		s.mu.Unlock()
		st.Cursor = view.Cursor
		if view.Paused == nil {
			st.Next = st.Info.Next
		}
	}
	return st, nil
}

// Runs returns the records of a job, the latest recorded first, limit at most. It blocks until the store has answered
// or ctx ends.
func (s *Scheduler) Runs(ctx context.Context, job string, limit int) ([]Run, error) {
	runs, err := s.cfg.Store.Runs(ctx, []string{job}, limit)
	if err != nil {
		return nil, fmt.Errorf("list the last %d runs of job %q: %w", limit, brief(job), err)
	}
	return runs[0], nil
}

// FindRun returns a run that is in flight, with an empty Outcome, or a run that is still on record. The error wraps
// ErrUnknownRun if there is no such run. It blocks until the store has answered or ctx ends.
func (s *Scheduler) FindRun(ctx context.Context, runID string) (Run, error) {
	job, ok := jobOfRun(runID)
	if !ok {
		return Run{}, fmt.Errorf("find run %q: %w: this is no run's ID", brief(runID), ErrUnknownRun)
	}
	// In flight first: a run that ends between the two questions is on record.
	view, err := s.cfg.Store.Look(ctx, []string{job})
	if err != nil {
		return Run{}, fmt.Errorf("find run %q: %w", brief(runID), err)
	}
	for _, p := range view.Jobs[0].InFlight {
		if p.Run.ID == runID {
			return p.Run, nil
		}
	}
	runs, err := s.Runs(ctx, job, maxHistory)
	if err != nil {
		return Run{}, fmt.Errorf("find run %q: %w", brief(runID), err)
	}
	if i := slices.IndexFunc(runs, func(r Run) bool { return r.ID == runID }); i >= 0 {
		return runs[i], nil
	}
	where := fmt.Sprintf("it is not in flight, and not among the %d that the job has on record", len(runs))
	if len(runs) == 0 {
		where = "it is not in flight, and the job has none on record"
	}
	return Run{}, fmt.Errorf("find run %q: %w: %s", brief(runID), ErrUnknownRun, where)
}

// maxHistory bounds Config.History.
const maxHistory = 100_000

// RunningRuns returns the runs in flight on all nodes, sorted by job. Started is zero while a run waits for a lock or a
// retry. If only a part of the store does not answer, the runs in the others come with an error that wraps a
// [*PartsError]. It blocks until the store has answered or ctx ends.
func (s *Scheduler) RunningRuns(ctx context.Context) ([]Run, error) {
	pending, err := s.cfg.Store.InFlight(ctx)
	if err != nil {
		err = fmt.Errorf("list the runs in flight: %w", err)
	}
	runs := make([]Run, len(pending))
	for i, p := range pending {
		runs[i] = p.Run
	}
	slices.SortFunc(runs, func(a, b Run) int { return strings.Compare(a.ID, b.ID) })
	return runs, err
}

// jobOfRun returns the job that an ID of a run names: the ID is the job's name, an @, and what makes it unique.
func jobOfRun(id string) (job string, ok bool) {
	at := strings.LastIndexByte(id, '@')
	if at < 0 {
		return "", false
	}
	return id[:at], true
}
