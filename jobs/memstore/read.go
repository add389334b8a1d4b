package memstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/merge"
)

// Look implements [jobs.Store].
func (s *Store) Look(ctx context.Context, names []string) (v jobs.View, err error) {
	err = s.do(ctx, func(now time.Time) error {
		v.Now = now
		inFlight := make(map[string][]jobs.InFlight)
		for _, id := range slices.Sorted(maps.Keys(s.state.InFlight)) {
			p := s.state.InFlight[id]
			inFlight[p.Run.Job] = append(inFlight[p.Run.Job], p)
		}
		for _, name := range names {
			view := jobs.JobView{}
			if j := s.state.Jobs[name]; j != nil {
				view = j.View(name)
			}
			view.InFlight = inFlight[name]
			v.Jobs = append(v.Jobs, view)
		}
		return nil
	})
	return v, err
}

// Cursors implements [jobs.Store].
func (s *Store) Cursors(ctx context.Context, names []string) ([]time.Time, error) {
	cursors := make([]time.Time, len(names))
	err := s.do(ctx, func(time.Time) error {
		for i, name := range names {
			if j := s.state.Jobs[name]; j != nil {
				cursors[i] = j.Cursor
			}
		}
		return nil
	})
	return cursors, err
}

// Epochs implements [jobs.Store].
func (s *Store) Epochs(ctx context.Context, names []string) ([]string, error) {
	epochs := make([]string, len(names))
	err := s.do(ctx, func(time.Time) error {
		for i, name := range names {
			if j := s.state.Jobs[name]; j != nil {
				epochs[i] = j.Spec.Epoch
			}
		}
		return nil
	})
	return epochs, err
}

// InFlight implements [jobs.Store].
func (s *Store) InFlight(ctx context.Context) (all []jobs.InFlight, err error) {
	err = s.do(ctx, func(time.Time) error {
		all = slices.Collect(maps.Values(s.state.InFlight))
		return nil
	})
	return all, err
}

// Runs implements [jobs.Store].
func (s *Store) Runs(ctx context.Context, names []string, limit int) ([][]jobs.Run, error) {
	all := make([][]jobs.Run, len(names))
	err := s.do(ctx, func(time.Time) error {
		for i, name := range names {
			if j := s.state.Jobs[name]; j != nil && limit > 0 {
				all[i] = slices.Clone(j.Runs[max(len(j.Runs)-limit, 0):])
				slices.Reverse(all[i])
			}
		}
		return nil
	})
	return all, err
}

// Failures implements [jobs.Store].
func (s *Store) Failures(ctx context.Context, limit int) (failures []jobs.Run, err error) {
	err = s.do(ctx, func(time.Time) error {
		latest := slices.Clone(s.state.Failures)
		slices.Reverse(latest)
		failures = merge.Failures(limit, latest)
		return nil
	})
	return failures, err
}

// Waiting implements [jobs.Store].
func (s *Store) Waiting(ctx context.Context, limit int) (all []jobs.OneOff, err error) {
	err = s.do(ctx, func(time.Time) error {
		all = slices.SortedFunc(maps.Values(s.state.Waiting), jobs.OneOff.Compare)
		all = all[:min(len(all), max(limit, 0))]
		return nil
	})
	return all, err
}

// Nodes implements [jobs.Store].
func (s *Store) Nodes(ctx context.Context) (nodes []jobs.Node, err error) {
	err = s.do(ctx, func(now time.Time) error {
		maps.DeleteFunc(s.nodes, func(_ string, n jobs.Node) bool { return now.Sub(n.Heartbeat) > jobs.NodeRetention })
		nodes = slices.Collect(maps.Values(s.nodes))
		return nil
	})
	slices.SortFunc(nodes, jobs.Node.Compare)
	return nodes, err
}
