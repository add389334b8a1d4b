package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
		func(ctx context.Context) { living, errs[0] = s.reads.livingNodes(ctx) },
		func(ctx context.Context) {
			if !named {
				jobs, errs[1] = s.reads.names(ctx, StateAny, StateHandler)
			}
		})
	for _, err := range errs[:2] {
		if err != nil && !isPartial(err) {
			return nil, err
		}
	}
	views, err := s.reads.look(ctx, jobs)
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

// ClusterStatus is [Scheduler.Status] for jobs of the whole cluster. If no job is named, it returns the jobs that
// [Scheduler.ClusterJobs] returns, in the same order and without handlers. The error wraps ErrUnknownJob if neither a
// node nor the store knows a job.
//
// If only a part of the store does not answer, the jobs in the others come with an error that wraps a [*PartsError]; if
// that is the part with the list of nodes, Info.Nodes is empty and no job is orphaned. The error is another one if none
// of the jobs is in a part that answers.
func (s *Scheduler) ClusterStatus(ctx context.Context, jobs ...string) ([]Status, error) {
	var missing error
	if len(jobs) == 0 {
		all, err := s.reads.names(ctx, StateAny)
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
		func(ctx context.Context) { living, errs[0] = s.reads.livingNodes(ctx) },
		func(ctx context.Context) { views, errs[1] = s.reads.look(ctx, jobs) },
		func(ctx context.Context) { records, errs[2] = s.reads.runs(ctx, jobs, 1) })
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
		left, err := s.reads.leftovers(ctx)
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
