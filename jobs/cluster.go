package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/jobs/internal/parallel"
)

// ClusterJobs returns jobs of the whole cluster, sorted by name: all of them, or the named ones that are known. Any
// scheduler on the store can ask, also one that has no jobs and does not run. If nodes have a job in several versions,
// the newest is returned. A job that no node has any more is returned as orphaned while anything is left of it: a
// cursor, a pause, a run in flight, a waiting one-off job. If this scheduler runs, its own jobs are always among the
// result, even if the store has lost data. For many jobs see [Scheduler.JobPage].
//
// If only a part of the store does not answer, what the others and this node know comes with an error that wraps a
// [*PartsError]; if that is the part with the list of nodes, Info.Nodes is empty and no job is orphaned. It blocks
// until the store has answered or ctx ends.
func (s *Scheduler) ClusterJobs(ctx context.Context, jobs ...string) ([]Info, error) {
	infos, err := s.clusterJobs(ctx, jobs)
	if err != nil {
		return infos, fmt.Errorf("list the jobs of the cluster: %w", err)
	}
	return infos, nil
}

func (s *Scheduler) clusterJobs(ctx context.Context, jobs []string) ([]Info, error) {
	named := len(jobs) > 0
	var living map[string]string // by session; nil: not known
	var errs [3]error
	parallel.Do(ctx,
		func(ctx context.Context) { living, errs[0] = s.livingNodes(ctx) },
		func(ctx context.Context) {
			if !named {
				jobs, errs[1] = s.clusterNames(ctx, StateAny, StateHandler)
			}
		})
	for _, err := range errs[:2] {
		if err != nil && !isPartial(err) {
			return nil, err
		}
	}
	views, err := s.lookAtAll(ctx, jobs)
	if errs[2] = err; err != nil && !isPartial(err) {
		return nil, err
	}
	infos := make(map[string]Info, len(jobs))
	for job, view := range views {
		if info, known := s.clusterInfoOf(job, &view, living); known || !named {
			infos[job] = info
		}
	}
	for _, info := range s.ownInfos() {
		if _, known := infos[info.Job.Name]; !known && (!named || slices.Contains(jobs, info.Job.Name)) {
			infos[info.Job.Name] = info
		}
	}
	list := slices.SortedFunc(maps.Values(infos),
		func(a, b Info) int { return strings.Compare(a.Job.Name, b.Job.Name) })
	return list, errors.Join(errs[:]...)
}

// lookAtAll looks at many jobs, and at those of each part of the store beside the others.
func (s *Scheduler) lookAtAll(ctx context.Context, jobs []string) (map[string]JobView, error) {
	return byPart(ctx, s, jobs, func(ctx context.Context, batch []string) ([]JobView, error) {
		view, err := s.cfg.Store.Look(ctx, batch)
		return view.Jobs, err
	})
}

// runsOfAll reads the records of many jobs, those of each part of the store beside the others.
func (s *Scheduler) runsOfAll(ctx context.Context, jobs []string, limit int) (map[string][]Run, error) {
	return byPart(ctx, s, jobs, func(ctx context.Context, batch []string) ([][]Run, error) {
		return s.cfg.Store.Runs(ctx, batch, limit)
	})
}

// byPart asks a question about many jobs, about those of each part of the store beside the others. Where a part does
// not answer it returns what the others say as well.
func byPart[T any](
	ctx context.Context, s *Scheduler, jobs []string, ask func(context.Context, []string) ([]T, error),
) (map[string]T, error) {
	names := make([][]string, len(s.parts))
	for _, job := range jobs {
		at := s.cfg.Store.PartOf(job)
		names[at] = append(names[at], job)
	}
	answers, failed := make([]map[string]T, len(s.parts)), make([]error, len(s.parts))
	calls := make([]func(context.Context), len(s.parts))
	for at := range calls {
		answers[at] = make(map[string]T, len(names[at]))
		calls[at] = func(ctx context.Context) {
			ctx, cancel := s.briefly(ctx)
			defer cancel()
			for batch := range slices.Chunk(names[at], listBatch) {
				answer, err := ask(ctx, batch)
				if failed[at] = err; err != nil {
					return
				}
				for i, about := range answer {
					answers[at][batch[i]] = about
				}
			}
		}
	}
	parallel.Do(ctx, calls...)
	found := make(map[string]T, len(jobs))
	for _, some := range answers {
		maps.Copy(found, some)
	}
	return found, PartsErrorOf(failed)
}

// listBatch is how many jobs are read at a time where all are wanted.
const listBatch = 1000

// clusterNames are the names of all jobs in some states, and of those of which only a run or a one-off job is left.
// Where parts of the store do not answer it returns those in the others as well.
func (s *Scheduler) clusterNames(ctx context.Context, states ...JobState) ([]string, error) {
	found, errs := make([]map[string]bool, len(states)+1), make([]error, len(states)+1)
	calls := []func(context.Context){func(ctx context.Context) { found[0], errs[0] = s.leftovers(ctx) }}
	for i, state := range states {
		calls = append(calls, func(ctx context.Context) { found[i+1], errs[i+1] = s.namesIn(ctx, state) })
	}
	parallel.Do(ctx, calls...)
	names := make(map[string]bool)
	for _, some := range found {
		maps.Copy(names, some)
	}
	return slices.Sorted(maps.Keys(names)), errors.Join(errs...)
}

// namesIn are the names of the jobs in a state.
func (s *Scheduler) namesIn(ctx context.Context, state JobState) (map[string]bool, error) {
	names := make(map[string]bool)
	var missing error
	for q := (ListQuery{State: state, Limit: listBatch}); ; {
		callCtx, cancel := s.briefly(ctx)
		page, err := s.cfg.Store.List(callCtx, q)
		cancel()
		if err != nil && state == StateHandler {
			err = s.ofOneOffPart(err)
		}
		if err != nil && !isPartial(err) {
			return nil, err
		}
		for _, job := range page.Jobs {
			names[job] = true
		}
		if err != nil {
			missing, q.Limit = err, math.MaxInt32 // all others at once: each call waits for what is missing
		}
		if !page.More || len(page.Jobs) == 0 {
			return names, missing
		}
		q.From = page.Jobs[len(page.Jobs)-1]
	}
}

// briefly bounds a call of several that follow each other, if a part of the store may keep it waiting.
func (s *Scheduler) briefly(ctx context.Context) (context.Context, context.CancelFunc) {
	if len(s.parts) == 1 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, storeTimeout)
}

// livingNodes are the names of the nodes that live, by session.
func (s *Scheduler) livingNodes(ctx context.Context) (map[string]string, error) {
	ctx, cancel := s.briefly(ctx)
	defer cancel()
	nodes, err := s.cfg.Store.Nodes(ctx)
	if err != nil {
		return nil, s.ofOneOffPart(err)
	}
	return s.living(nodes), nil
}

// ofOneOffPart makes an error of a call about the part of the one-off jobs one that says so, unless that is all of the
// store.
func (s *Scheduler) ofOneOffPart(err error) error {
	if err == nil || len(s.parts) == 1 {
		return err
	}
	return &PartsError{Parts: []int{s.oneOffPart().n}, Of: len(s.parts), Err: err}
}

// leftoverLimit is how many one-off jobs that wait are looked at for handlers that no node has.
const leftoverLimit = 10_000

// leftovers are the jobs and handlers that runs in flight and one-off jobs name.
func (s *Scheduler) leftovers(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := s.briefly(ctx)
	defer cancel()
	var flights []InFlight
	var waiting []OneOff
	var errs [2]error
	parallel.Do(ctx,
		func(ctx context.Context) { flights, errs[0] = s.cfg.Store.InFlight(ctx) },
		func(ctx context.Context) {
			waiting, errs[1] = s.cfg.Store.Waiting(ctx, leftoverLimit)
			errs[1] = s.ofOneOffPart(errs[1])
		})
	left := make(map[string]bool)
	for _, p := range flights {
		left[p.Run.Job] = true
	}
	for _, o := range waiting {
		left[HandlerPrefix+o.Handler] = true
	}
	return left, errors.Join(errs[:]...)
}

// ownInfos are the jobs and handlers that this node is known to have, if it runs.
func (s *Scheduler) ownInfos() (infos []Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != started {
		return nil
	}
	for _, e := range s.entries {
		if !e.isOurs() {
			continue
		}
		info := s.info(e)
		info.Nodes = []string{s.cfg.Node}
		if e.schedule != nil {
			info.Next = e.after(e.cursor)
		}
		infos = append(infos, info)
	}
	return infos
}

// clusterInfoOf describes a job by its state. It reports whether the store knows more of it than its name.
func (s *Scheduler) clusterInfoOf(job string, v *JobView, living map[string]string) (info Info, known bool) {
	v.Spec.Job, v.Spec.Cursor = job, v.Cursor
	return s.clusterInfo(&v.Spec, living), len(v.Spec.Defs) > 0 || !v.Cursor.IsZero() || len(v.InFlight) > 0
}

// clusterInfo describes a job of the cluster, by this node's own entry where its definition is the one in force.
func (s *Scheduler) clusterInfo(spec *JobSpec, living map[string]string) Info {
	info := Info{Job: Job{Name: spec.Job}, Cursor: spec.Cursor, Zone: time.UTC}
	newest := spec.newest(func(session string) bool { return living == nil || living[session] != "" })
	if info.Orphaned = newest == nil && living != nil; newest != nil {
		for session := range spec.Offers {
			if name := living[session]; name != "" {
				info.Nodes = append(info.Nodes, name)
			}
		}
		slices.Sort(info.Nodes)
	} else if len(spec.Defs) > 0 {
		newest = &spec.Defs[len(spec.Defs)-1]
	}
	if newest == nil {
		return info
	}
	s.describe(&info, &newest.Definition, spec)
	if from := spec.Cursor; !info.Handler && !info.Orphaned {
		if from.IsZero() {
			from = s.partOf(spec.Job).clock.now()
		}
		info.Next = afterOn(info.timings, from)
	}
	return info
}

func (s *Scheduler) describe(info *Info, d *Definition, spec *JobSpec) {
	own := Timing{}
	var e *entry
	if e = s.entry(spec.Job); e != nil {
		own = e.timing()
	}
	if info.Job = d.plain(); e != nil && own == d.Timing && d.Version == s.cfg.Version {
		info.Job = e.job
	}
	info.Program, info.Version, info.Handler = d.Program, d.Version, d.Handler
	if zone, err := time.LoadLocation(d.Zone); err == nil {
		info.Zone = zone
	}
	if e != nil {
		info.timings = periodsOf(spec.Timings, own, e.schedule, e.zone)
	} else {
		info.timings = periodsOf(spec.Timings, Timing{}, nil, info.Zone)
	}
	if len(spec.Timings) == 0 || spec.Timings[len(spec.Timings)-1].Timing != d.Timing { // not yet registered by its nodes
		schedule, zone := d.Timing.parse()
		info.timings = append(info.timings, inForce{since: spec.Cursor, schedule: schedule, zone: zone})
	}
}

// ClusterStatus is [Scheduler.Status] for jobs of the whole cluster: those that [Scheduler.ClusterJobs] returns, in its
// order and without handlers, if none is named. The error wraps ErrUnknownJob if neither a node nor the store knows a
// job.
//
// If only a part of the store does not answer, the jobs in the others come with an error that wraps a [*PartsError]; if
// that is the part with the list of nodes, Info.Nodes is empty and no job is orphaned. The error is another one if none
// of the jobs is in a part that answers.
func (s *Scheduler) ClusterStatus(ctx context.Context, jobs ...string) ([]Status, error) {
	var missing error
	if len(jobs) == 0 {
		all, err := s.clusterNames(ctx, StateAny)
		if missing = err; err != nil && !isPartial(err) {
			return nil, fmt.Errorf("list the jobs of the cluster: %w", err)
		}
		jobs = slices.DeleteFunc(all, func(job string) bool { return strings.HasPrefix(job, HandlerPrefix) })
	}
	all, err := s.clusterStatuses(ctx, jobs)
	return all, joinPartial(missing, err)
}

func (s *Scheduler) clusterStatuses(ctx context.Context, jobs []string) ([]Status, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	var living map[string]string // nil: not known
	var views map[string]JobView
	var records map[string][]Run
	var errs [3]error
	parallel.Do(ctx,
		func(ctx context.Context) { living, errs[0] = s.livingNodes(ctx) },
		func(ctx context.Context) { views, errs[1] = s.lookAtAll(ctx, jobs) },
		func(ctx context.Context) { records, errs[2] = s.runsOfAll(ctx, jobs, 1) })
	err := errors.Join(errs[:]...)
	if err != nil {
		err = fmt.Errorf("look at %d jobs: %w", len(jobs), err)
	}
	switch {
	case err != nil && !isPartial(errors.Join(errs[:]...)):
		return nil, err
	case err != nil && len(views) == 0:
		return nil, fmt.Errorf("look at %d jobs: %w", len(jobs), causeOf(errs[1]))
	}
	all := make([]Status, 0, len(jobs))
	for _, job := range jobs {
		view, answered := views[job]
		if !answered {
			continue
		}
		st, err := s.clusterStatus(ctx, job, &view, living)
		if err != nil {
			return nil, err
		}
		st.add(&view, records[job])
		all = append(all, st)
	}
	return all, err
}

func (s *Scheduler) clusterStatus(
	ctx context.Context, job string, view *JobView, living map[string]string,
) (st Status, err error) {
	var known bool
	if st.Info, known = s.clusterInfoOf(job, view, living); !known {
		if e := s.entry(job); e != nil && s.isRegistered(e) {
			st.Info, known = s.ownInfo(e), true // the store has lost it, and will hear of it again
		}
	}
	if !known && strings.HasPrefix(job, HandlerPrefix) {
		left, err := s.leftovers(ctx)
		if known = left[job]; err != nil {
			return st, fmt.Errorf("look at job %q: %w", brief(job), err)
		}
	}
	if !known {
		return st, fmt.Errorf("look at job %q: %w: no node has it, and nothing is left of it in the store",
			brief(job), ErrUnknownJob)
	}
	st.Cursor = view.Cursor
	if view.Paused == nil {
		st.Next = st.Info.Next
	}
	return st, nil
}

// ownInfo is what this node alone knows of a job.
func (s *Scheduler) ownInfo(e *entry) Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info(e)
}

// Upcoming returns the next n ticks after a time, fewer if the schedule ends. The result is empty for a handler, for an
// orphaned job, and for a job of another node with Job.Schedule.
func (i Info) Upcoming(after time.Time, n int) []Upcoming {
	if i.Orphaned {
		return nil
	}
	return upcoming(i.timings, after, n)
}
