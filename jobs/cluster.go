package jobs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// ClusterJobs returns the jobs of the whole cluster, sorted by name, from any scheduler on its store, also from one that has
// none and does not run: all of them, or those that are named, as far as they are known. Of a job that nodes have in several
// versions it tells the newest. A job that no node has any more is among them, as orphaned, while anything is left of it: a
// mark, a pause, a run in flight, a one-off job that waits. It blocks until the store has answered or ctx ends. For many jobs
// see [Scheduler.JobPage].
func (s *Scheduler) ClusterJobs(ctx context.Context, jobs ...string) ([]Info, error) {
	infos, err := s.clusterJobs(ctx, jobs)
	if err != nil {
		return nil, fmt.Errorf("list the jobs of the cluster: %w", err)
	}
	return infos, nil
}

func (s *Scheduler) clusterJobs(ctx context.Context, jobs []string) ([]Info, error) {
	nodes, err := s.cfg.Store.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	named := len(jobs) > 0
	if !named {
		if jobs, err = s.clusterNames(ctx, StateAny, StateHandler); err != nil {
			return nil, err
		}
	}
	jobs = slices.Sorted(slices.Values(jobs))
	now, living := s.clock.now(), s.living(nodes)
	infos := make([]Info, 0, len(jobs))
	for batch := range slices.Chunk(jobs, listBatch) {
		view, err := s.cfg.Store.Look(ctx, batch)
		if err != nil {
			return nil, err
		}
		for i, v := range view.Jobs {
			if info, known := s.clusterInfoOf(batch[i], &v, living, now); known || !named {
				infos = append(infos, info)
			}
		}
	}
	return infos, nil
}

// listBatch is how many jobs are read at a time where all are wanted.
const listBatch = 1000

// clusterNames are the names of all jobs in some states, and of those of which only a run or a one-off job is left.
func (s *Scheduler) clusterNames(ctx context.Context, states ...JobState) ([]string, error) {
	left, err := s.leftovers(ctx)
	if err != nil {
		return nil, err
	}
	for _, state := range states {
		for q := (ListQuery{State: state, Limit: listBatch}); ; {
			page, err := s.cfg.Store.List(ctx, q)
			if err != nil {
				return nil, err
			}
			for _, job := range page.Jobs {
				left[job] = true
			}
			if !page.More || len(page.Jobs) == 0 {
				break
			}
			q.From = page.Jobs[len(page.Jobs)-1]
		}
	}
	return slices.Sorted(maps.Keys(left)), nil
}

// leftoverLimit is how many one-off jobs that wait are looked at for handlers that no node has.
const leftoverLimit = 10_000

// leftovers are the jobs and handlers that runs in flight and one-off jobs name.
func (s *Scheduler) leftovers(ctx context.Context) (map[string]bool, error) {
	flights, err := s.cfg.Store.InFlight(ctx)
	if err != nil {
		return nil, err
	}
	waiting, err := s.cfg.Store.Waiting(ctx, leftoverLimit)
	if err != nil {
		return nil, err
	}
	left := make(map[string]bool)
	for _, p := range flights {
		left[p.Run.Job] = true
	}
	for _, o := range waiting {
		left[handlerPrefix+o.Handler] = true
	}
	return left, nil
}

// clusterInfoOf describes a job by its state. It reports whether the store knows more of it than its name.
func (s *Scheduler) clusterInfoOf(job string, v *JobView, living map[string]string, now time.Time) (info Info, known bool) {
	v.Spec.Job, v.Spec.Mark = job, v.Mark
	return s.clusterInfo(&v.Spec, living, now), len(v.Spec.Defs) > 0 || !v.Mark.IsZero() || len(v.Claims) > 0
}

// clusterInfo describes a job of the cluster, by this node's own entry where its definition is the one in force.
func (s *Scheduler) clusterInfo(spec *JobSpec, living map[string]string, now time.Time) Info {
	info := Info{Job: Job{Name: spec.Job}, Mark: spec.Mark, Zone: time.UTC}
	newest := spec.newest(func(session string) bool { return living[session] != "" })
	if info.Orphaned = newest == nil; !info.Orphaned {
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
	if from := spec.Mark; !info.Handler && !info.Orphaned {
		if from.IsZero() {
			from = now
		}
		info.Next = afterOn(info.line, from)
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
		info.line = lineOf(spec.Line, own, e.schedule, e.zone)
	} else {
		info.line = lineOf(spec.Line, Timing{}, nil, info.Zone)
	}
	if len(spec.Line) == 0 || spec.Line[len(spec.Line)-1].Timing != d.Timing { // not yet registered by its nodes
		schedule, zone := d.Timing.parse()
		info.line = append(info.line, inForce{since: spec.Mark, schedule: schedule, zone: zone})
	}
}

// ClusterStatus is [Scheduler.Status] for jobs of the whole cluster: those that [Scheduler.ClusterJobs] returns, in its order and
// without handlers, if none is named. The error wraps ErrUnknownJob if neither a node nor the store knows a job.
func (s *Scheduler) ClusterStatus(ctx context.Context, jobs ...string) ([]Status, error) {
	if len(jobs) == 0 {
		all, err := s.clusterNames(ctx, StateAny)
		if err != nil {
			return nil, fmt.Errorf("list the jobs of the cluster: %w", err)
		}
		jobs = slices.DeleteFunc(all, func(job string) bool { return strings.HasPrefix(job, handlerPrefix) })
	}
	return s.clusterStatuses(ctx, jobs)
}

func (s *Scheduler) clusterStatuses(ctx context.Context, jobs []string) ([]Status, error) {
	nodes, err := s.cfg.Store.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	living := s.living(nodes)
	all := make([]Status, 0, len(jobs))
	for batch := range slices.Chunk(jobs, listBatch) {
		some, err := s.statuses(ctx, batch, func(i int, view JobView, now time.Time) (Status, error) {
			return s.clusterStatus(ctx, batch[i], &view, living, now)
		})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func (s *Scheduler) clusterStatus(
	ctx context.Context, job string, view *JobView, living map[string]string, now time.Time,
) (st Status, err error) {
	var known bool
	if st.Info, known = s.clusterInfoOf(job, view, living, now); !known {
		if e := s.entry(job); e != nil && s.isRegistered(e) {
			st.Info, known = s.ownInfo(e), true // the store has lost it, and will hear of it again
		}
	}
	if !known && strings.HasPrefix(job, handlerPrefix) {
		left, err := s.leftovers(ctx)
		if known = left[job]; err != nil {
			return st, fmt.Errorf("look at job %q: %w", job, err)
		}
	}
	if !known {
		return st, fmt.Errorf("look at job %q: %w: no node has it, and nothing is left of it in the store", job, ErrUnknownJob)
	}
	st.Mark = view.Mark
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

// Upcoming returns the next n ticks after a time, fewer if the schedule ends. It is empty for a handler, for an orphaned job,
// and for a Job.Schedule of another node.
func (i Info) Upcoming(after time.Time, n int) []Upcoming {
	if i.Orphaned {
		return nil
	}
	return upcoming(i.line, after, n)
}
