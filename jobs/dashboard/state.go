package dashboard

import (
	"context"
	"sync"

	"github.com/lockgen/lockgen/jobs"
)

// state is what the store said of the whole cluster at one moment.
type state struct {
	Jobs     []jobs.Status
	Nodes    []jobs.Node
	Running  []jobs.Run
	Failures []jobs.Run // the newest first
	Recent   recent
}

// mostRuns is how many failures the overview knows of.
const mostRuns = 200

// state returns the state of the cluster, as it is or as it was known last.
func (q *request) state() (*state, error) {
	return ask(q, "the state of the cluster", "state", q.d.fetchState)
}

func (d *dashboard) fetchState(ctx context.Context) (*state, error) {
	s := &state{}
	err := inParallel(
		func() (err error) { s.Jobs, err = d.jobs.ClusterStatus(ctx); return err },
		func() (err error) { s.Nodes, err = d.jobs.Nodes(ctx); return err },
		func() (err error) { s.Running, err = d.jobs.RunningRuns(ctx); return err },
		func() (err error) { s.Failures, err = d.jobs.Failures(ctx, mostRuns); return err },
	)
	if err == nil {
		s.Recent, err = d.fetchRecent(ctx, s.Jobs)
	}
	d.names.learn(s.Jobs)
	return s, err
}

// inParallel asks several questions at once and returns an error of one of them, if any.
func inParallel(questions ...func() error) error {
	errs := make([]error, len(questions))
	var asking sync.WaitGroup
	for i, question := range questions {
		asking.Go(func() { errs[i] = question() })
	}
	asking.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
