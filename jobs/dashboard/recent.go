package dashboard

import (
	"context"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// What is read of the records of the whole cluster, for timelines, charts and the list of runs.
const (
	recentJobs    = 100  // the ones that ran last
	recentRecords = 1500 // of all of them
	recentLeast   = 15   // of each
	recentMost    = 300
)

// recent is the newest records of the cluster.
type recent struct {
	Runs []jobs.Run // the newest first
	From time.Time  // no record since then is missing; zero: none at all
}

// recent returns the newest records of all jobs and handlers.
func (q *request) recent() (*recent, error) {
	return ask(q, "the last runs", "recent", q.d.fetchRecent)
}

func (d *dashboard) fetchRecent(ctx context.Context) (*recent, error) {
	var (
		rec  = &recent{}
		ran  []jobs.LatestRecord
		kept int
	)
	err := inParallel(
		func() (err error) { ran, err = d.jobs.LatestJobs(ctx, recentJobs+1); return err },
		func() error { kept = d.leastHistory(ctx); return nil },
	)
	if err != nil && !isPartial(err) || len(ran) == 0 {
		return rec, err
	}
	if len(ran) > recentJobs {
		rec.From = ran[recentJobs].At
		ran = ran[:recentJobs]
	}
	names := make([]string, len(ran))
	for i, r := range ran {
		names[i] = r.Job
	}
	// Of a job with as many records as are asked for, or kept, those before are missing.
	perJob := min(max(recentRecords/len(ran), recentLeast), recentMost, kept)
	records, missing := d.jobs.RecentRuns(ctx, perJob, names...)
	if missing != nil {
		err = missing
	}
	for _, runs := range records {
		if len(runs) == perJob && runs[perJob-1].Ended.After(rec.From) {
			rec.From = runs[perJob-1].Ended
		}
		rec.Runs = append(rec.Runs, runs...)
	}
	slices.SortStableFunc(rec.Runs, func(a, b jobs.Run) int { return b.Ended.Compare(a.Ended) })
	return rec, err
}

// leastHistory is how many records of a job are kept whichever node has recorded its last runs. Nodes that are not known
// are taken to keep as many as this scheduler.
func (d *dashboard) leastHistory(ctx context.Context) int {
	least := d.jobs.History()
	nodes, _ := d.jobs.Nodes(ctx) // the page says that they are not known
	for _, n := range nodes {
		if n.History > 0 {
			least = min(least, n.History)
		}
	}
	return least
}
