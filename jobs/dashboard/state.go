package dashboard

import (
	"context"
	"strconv"
	"strings"

	"github.com/lockgen/lockgen/jobs"
)

// totals are what many pages show of the whole cluster.
type totals struct {
	Count   jobs.JobCount
	Nodes   []jobs.Node
	Running []jobs.Run
}

// totalsQuestion is what the totals are known by.
const totalsQuestion = "totals"

func (q *request) totals() (*totals, error) {
	return ask(q, "the state of the cluster", totalsQuestion, func(ctx context.Context) (*totals, error) {
		t := &totals{}
		err := inParallel(
			func() (err error) { t.Count, err = q.d.jobs.CountJobs(ctx); return err },
			func() (err error) { t.Nodes, err = q.d.jobs.Nodes(ctx); return err },
			func() (err error) { t.Running, err = q.d.jobs.RunningRuns(ctx); return err },
		)
		return t, err
	})
}

// runningJobs is how many jobs have a run in flight.
func (t *totals) runningJobs() int {
	running := map[string]bool{}
	for _, r := range t.Running {
		if !strings.HasPrefix(r.Job, handlerPrefix) {
			running[r.Job] = true
		}
	}
	return len(running)
}

// count is how many jobs are in a state.
func (t *totals) count(state jobs.JobState) int {
	switch state {
	case jobs.StateRunning:
		return t.runningJobs()
	case jobs.StateFailing:
		return t.Count.Failing
	case jobs.StatePaused:
		return t.Count.Paused
	case jobs.StateMissed:
		return t.Count.Missed
	case jobs.StateOrphaned:
		return t.Count.Unseen
	case jobs.StateNever:
		return t.Count.Never
	}
	return t.Count.Jobs
}

// sortable is how many jobs are read to sort them by anything but their names.
const sortable = 1000

// few reports whether there are few enough jobs for that.
func (t *totals) few() bool { return t.Count.Jobs <= sortable }

// jobPage returns a page of the jobs. All that ask for the same share it.
func (q *request) jobPage(of jobs.JobQuery) (jobs.JobPage, error) {
	question := strings.Join([]string{
		"jobs", string(of.State), of.Search, of.From, strconv.FormatBool(of.Back), strconv.Itoa(of.Limit),
	}, "\x00")
	return ask(q, "the jobs", question, func(ctx context.Context) (jobs.JobPage, error) {
		page, err := q.d.jobs.JobPage(ctx, of)
		q.d.names.learn(page.Jobs)
		return page, err
	})
}
