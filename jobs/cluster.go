package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// ClusterJobs returns the jobs of the whole cluster, sorted by name, from any scheduler on its store, also from one that has
// none and does not run. Of a job that nodes have in several versions it tells the newest. A job that no node has any more is
// among them, as orphaned, while anything is left of it: a mark, a pause, a run in flight, a one-off job that waits. It blocks
// until the store has answered or ctx ends.
func (s *Scheduler) ClusterJobs(ctx context.Context) ([]Info, error) {
	specs, err := s.cfg.Store.Definitions(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the jobs of the cluster: %w", err)
	}
	nodes, err := s.cfg.Store.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the jobs of the cluster: %w", err)
	}
	left, err := s.leftovers(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the jobs of the cluster: %w", err)
	}
	infos := make([]Info, 0, len(specs))
	for i := range specs {
		delete(left, specs[i].Job)
		infos = append(infos, s.clusterInfo(&specs[i], nodes))
	}
	for job := range left {
		infos = append(infos, s.clusterInfo(&JobSpec{Job: job}, nodes))
	}
	slices.SortFunc(infos, func(a, b Info) int { return cmp.Compare(a.Job.Name, b.Job.Name) })
	return infos, nil
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

// clusterInfo describes a job of the cluster, by this node's own entry where its definition is the one in force.
func (s *Scheduler) clusterInfo(spec *JobSpec, nodes []Node) Info {
	info := Info{Job: Job{Name: spec.Job}, Mark: spec.Mark, Zone: time.UTC}
	living := s.living(nodes)
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
			from = s.partOf(spec.Job).clock.now()
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

// ClusterStatus is [Scheduler.Status] for jobs of the whole cluster: those that [Scheduler.ClusterJobs] returns, in its order,
// if none is named. The error wraps ErrUnknownJob if neither a node nor the store knows a job.
func (s *Scheduler) ClusterStatus(ctx context.Context, jobs ...string) ([]Status, error) {
	infos, err := s.ClusterJobs(ctx)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]Info, len(infos))
	for _, info := range infos {
		byName[info.Job.Name] = info
	}
	if len(jobs) == 0 {
		for _, info := range infos {
			if !info.Handler {
				jobs = append(jobs, info.Job.Name)
			}
		}
	}
	for _, name := range jobs {
		if _, known := byName[name]; known {
			continue
		}
		e := s.entry(name)
		if e == nil || !s.isRegistered(e) {
			return nil, fmt.Errorf("look at job %q: %w: no node has it, and nothing is left of it in the store", brief(name), ErrUnknownJob)
		}
		byName[name] = s.ownInfo(e) // the store has lost it, and will hear of it again
	}
	return s.statuses(ctx, jobs, func(i int, view JobView, _ time.Time) (Status, error) {
		st := Status{Info: byName[jobs[i]]}
		st.Mark = view.Mark
		if view.Paused == nil {
			st.Next = st.Info.Next
		}
		return st, nil
	})
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
