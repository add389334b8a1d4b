package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// ClusterJobs returns the jobs of the whole cluster, sorted by name, from any scheduler on its store, also from one
// that has none and does not run. Of a job that nodes have in several versions it tells the newest. A job that no node
// has any more is among them, as orphaned, while anything is left of it: a mark, a pause, a run in flight, a one-off
// job that waits. If this scheduler runs, its own jobs are among them, whatever the store has lost.
//
// If only a part of the store does not answer, what the others and this node know comes with an error that wraps a
// [*PartsError]; if that is the part with the list of nodes, Info.Nodes is empty and no job is orphaned. It blocks
// until the store has answered or ctx ends.
func (s *Scheduler) ClusterJobs(ctx context.Context) ([]Info, error) {
	var specs []JobSpec
	var living map[string]string // by session; nil: not known
	var left map[string]bool
	var errs [3]error
	all(ctx,
		func(ctx context.Context) { specs, errs[0] = s.cfg.Store.Definitions(ctx) },
		func(ctx context.Context) { living, errs[1] = s.livingNodes(ctx) },
		func(ctx context.Context) { left, errs[2] = s.leftovers(ctx) })
	var missing *PartsError
	for _, err := range errs {
		if err != nil && !errors.As(err, &missing) {
			return nil, fmt.Errorf("list the jobs of the cluster: %w", err)
		}
	}
	var undefined *PartsError // parts whose definitions are missing: what is left in them says nothing
	_ = errors.As(errs[0], &undefined)
	infos := make(map[string]Info, len(specs))
	for i := range specs {
		infos[specs[i].Job] = s.clusterInfo(&specs[i], living)
	}
	for job := range left {
		if _, known := infos[job]; !known && !undefined.lacks(s.cfg.Store.PartOf(job)) {
			infos[job] = s.clusterInfo(&JobSpec{Job: job}, living)
		}
	}
	for _, info := range s.ownInfos() {
		if _, known := infos[info.Job.Name]; !known {
			infos[info.Job.Name] = info
		}
	}
	list := slices.SortedFunc(maps.Values(infos), func(a, b Info) int { return cmp.Compare(a.Job.Name, b.Job.Name) })
	if missing != nil {
		return list, fmt.Errorf("list the jobs of the cluster: %w", errors.Join(errs[:]...))
	}
	return list, nil
}

// livingNodes are the names of the nodes that live, by session.
func (s *Scheduler) livingNodes(ctx context.Context) (map[string]string, error) {
	nodes, err := s.cfg.Store.Nodes(ctx)
	if err != nil {
		return nil, s.ofOncePart(err)
	}
	return s.living(nodes), nil
}

// ofOncePart makes an error of a call about the part of the one-off jobs one that says so, unless that is all of the
// store.
func (s *Scheduler) ofOncePart(err error) error {
	if err == nil || len(s.parts) == 1 {
		return err
	}
	return &PartsError{Parts: []int{s.oncePart().n}, Of: len(s.parts), Err: err}
}

// leftoverLimit is how many one-off jobs that wait are looked at for handlers that no node has.
const leftoverLimit = 10_000

// leftovers are the jobs and handlers that runs in flight and one-off jobs name.
func (s *Scheduler) leftovers(ctx context.Context) (map[string]bool, error) {
	var flights []Pending
	var waiting []Once
	var errs [2]error
	all(ctx,
		func(ctx context.Context) { flights, errs[0] = s.cfg.Store.InFlight(ctx) },
		func(ctx context.Context) {
			waiting, errs[1] = s.cfg.Store.Waiting(ctx, leftoverLimit)
			errs[1] = s.ofOncePart(errs[1])
		})
	left := make(map[string]bool)
	for _, p := range flights {
		left[p.Run.Job] = true
	}
	for _, o := range waiting {
		left[handlerPrefix+o.Handler] = true
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
			info.Next = e.after(e.mark)
		}
		infos = append(infos, info)
	}
	return infos
}

// clusterInfo describes a job of the cluster, by this node's own entry where its definition is the one in force.
func (s *Scheduler) clusterInfo(spec *JobSpec, living map[string]string) Info {
	info := Info{Job: Job{Name: spec.Job}, Mark: spec.Mark, Zone: time.UTC}
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

// ClusterStatus is [Scheduler.Status] for jobs of the whole cluster: those that [Scheduler.ClusterJobs] returns, in its
// order, if none is named. The error wraps ErrUnknownJob if neither a node nor the store knows a job.
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
		return nil, fmt.Errorf("look at job %q: %w: no node has it, and nothing is left of it in the store",
			brief(name), ErrUnknownJob)
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

// Upcoming returns the next n ticks after a time, fewer if the schedule ends. It is empty for a handler, for an
// orphaned job, and for a Job.Schedule of another node.
func (i Info) Upcoming(after time.Time, n int) []Upcoming {
	if i.Orphaned {
		return nil
	}
	return upcoming(i.line, after, n)
}
