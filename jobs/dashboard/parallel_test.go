package dashboard

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// faulty is a cluster of which one question panics.
type faulty struct {
	*fake
	at string
}

func (f *faulty) CountJobs(ctx context.Context) (jobs.JobCount, error) {
	if f.at == "count" {
		panic("a fault")
	}
	return f.fake.CountJobs(ctx)
}

func (f *faulty) JobPage(ctx context.Context, q jobs.JobQuery) (jobs.JobPage, error) {
	if f.at == "page" {
		panic("a fault")
	}
	return f.fake.JobPage(ctx, q)
}

func (f *faulty) Waiting(ctx context.Context, limit int) ([]jobs.OneOff, error) {
	if f.at == "waiting" {
		panic("a fault")
	}
	return f.fake.Waiting(ctx, limit)
}

func (f *faulty) Holder(ctx context.Context, key string) (lockrt.LockInfo, error) {
	if f.at == "holder" {
		panic("a fault")
	}
	return f.fake.Holder(ctx, key)
}

// A question that panics is an error of its request. It ends neither the process nor the page for others, and says nothing of
// the store.
func TestInParallel_panic(t *testing.T) {
	for at, page := range map[string]string{"count": "", "page": "jobs", "waiting": "one-off", "holder": "job?name=index"} {
		var log bytes.Buffer
		f := &faulty{busyFake(), at}
		d := newDashboard(f, f, Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		d.upcoming = func(jobs.Info, time.Time, int) []jobs.Upcoming { return nil }
		for range 2 {
			if at == "holder" {
				expect(t, get(d, page), 200, "Who holds the locks is unknown", "a fault")
				continue
			}
			expect(t, get(d, page), 500, "This page could not be made", "panic: a fault")
		}
		if !strings.Contains(log.String(), "parallel_test.go") {
			t.Errorf("the log does not say where it was: %s", log.String())
		}
		f.at = ""
		d.forget() // the rest of what crashed
		expect(t, get(d, page), 200)
	}
}
