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

func (d *dashboard) fetchRecent(ctx context.Context, statuses []jobs.Status) (rec recent, err error) {
	ran := where(statuses, hasLast)
	slices.SortFunc(ran, func(a, b jobs.Status) int { return b.Last.Ended.Compare(a.Last.Ended) })
	if len(ran) > recentJobs {
		rec.From = ran[recentJobs].Last.Ended
		ran = ran[:recentJobs]
	}
	if len(ran) == 0 {
		return rec, nil
	}
	names := make([]string, len(ran))
	for i, st := range ran {
		names[i] = st.Job.Name
	}
	perJob := min(max(recentRecords/len(ran), recentLeast), recentMost)
	records, err := d.jobs.RecentRuns(ctx, perJob, names...)
	for _, runs := range records {
		if len(runs) == perJob && runs[perJob-1].Ended.After(rec.From) {
			rec.From = runs[perJob-1].Ended
		}
		rec.Runs = append(rec.Runs, runs...)
	}
	slices.SortStableFunc(rec.Runs, func(a, b jobs.Run) int { return b.Ended.Compare(a.Ended) })
	return rec, err
}
