package dashboard

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// lagging is a cluster whose clock runs, and whose stores answer every question after a time.
type lagging struct {
	*fake
	mu    sync.Mutex // guards all below
	lag   time.Duration
	quick []string          // questions that take no time
	trace map[string]*trace // by question
}

// trace is how long the store has worked on a question.
type trace struct {
	busy  time.Duration
	times int
}

func (l *lagging) Now() time.Time { return time.Now() }

func (l *lagging) set(lag time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lag = lag
}

func (l *lagging) wait(ctx context.Context, what string) error {
	l.mu.Lock()
	lag := l.lag
	if slices.Contains(l.quick, what) {
		lag = 0
	}
	l.mu.Unlock()
	began := time.Now()
	err := wait(ctx, lag)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trace == nil {
		l.trace = map[string]*trace{}
	}
	if l.trace[what] == nil {
		l.trace[what] = &trace{}
	}
	l.trace[what].busy += time.Since(began)
	l.trace[what].times++
	return err
}

// lagged is what a store says after its time.
func lagged[T any](l *lagging, ctx context.Context, what string, answer func() (T, error)) (T, error) {
	if err := l.wait(ctx, what); err != nil {
		var none T
		return none, err
	}
	return answer()
}

func (l *lagging) ClusterJobs(ctx context.Context, names ...string) ([]jobs.Info, error) {
	return lagged(l, ctx, "jobs", func() ([]jobs.Info, error) { return l.fake.ClusterJobs(ctx, names...) })
}

func (l *lagging) ClusterStatus(ctx context.Context, names ...string) ([]jobs.Status, error) {
	return lagged(l, ctx, "status", func() ([]jobs.Status, error) { return l.fake.ClusterStatus(ctx, names...) })
}

func (l *lagging) JobPage(ctx context.Context, q jobs.JobQuery) (jobs.JobPage, error) {
	return lagged(l, ctx, "page", func() (jobs.JobPage, error) { return l.fake.JobPage(ctx, q) })
}

func (l *lagging) CountJobs(ctx context.Context) (jobs.JobCount, error) {
	return lagged(l, ctx, "count", func() (jobs.JobCount, error) { return l.fake.CountJobs(ctx) })
}

func (l *lagging) LatestJobs(ctx context.Context, limit int) ([]jobs.LatestRecord, error) {
	return lagged(l, ctx, "latest", func() ([]jobs.LatestRecord, error) { return l.fake.LatestJobs(ctx, limit) })
}

func (l *lagging) MostMissed(ctx context.Context, limit int) ([]jobs.Status, error) {
	return lagged(l, ctx, "missed", func() ([]jobs.Status, error) { return l.fake.MostMissed(ctx, limit) })
}

func (l *lagging) Nodes(ctx context.Context) ([]jobs.Node, error) {
	return lagged(l, ctx, "nodes", func() ([]jobs.Node, error) { return l.fake.Nodes(ctx) })
}

func (l *lagging) RunningRuns(ctx context.Context) ([]jobs.Run, error) {
	return lagged(l, ctx, "running", func() ([]jobs.Run, error) { return l.fake.RunningRuns(ctx) })
}

func (l *lagging) Failures(ctx context.Context, limit int) ([]jobs.Run, error) {
	return lagged(l, ctx, "failures", func() ([]jobs.Run, error) { return l.fake.Failures(ctx, limit) })
}

func (l *lagging) RecentRuns(ctx context.Context, perJob int, names ...string) ([][]jobs.Run, error) {
	return lagged(l, ctx, "runs", func() ([][]jobs.Run, error) { return l.fake.RecentRuns(ctx, perJob, names...) })
}

func (l *lagging) FindRun(ctx context.Context, id string) (jobs.Run, error) {
	return lagged(l, ctx, "run", func() (jobs.Run, error) { return l.fake.FindRun(ctx, id) })
}

func (l *lagging) Waiting(ctx context.Context, limit int) ([]jobs.OneOff, error) {
	return lagged(l, ctx, "waiting", func() ([]jobs.OneOff, error) { return l.fake.Waiting(ctx, limit) })
}

func (l *lagging) Holder(ctx context.Context, key string) (lockrt.LockInfo, error) {
	return lagged(l, ctx, "holder "+key, func() (lockrt.LockInfo, error) { return l.fake.Holder(ctx, key) })
}

func (l *lagging) ListPage(ctx context.Context, prefix, cursor string, limit int) (locks []lockrt.LockInfo, next string, err error) {
	locks, err = lagged(l, ctx, "locks", func() (page []lockrt.LockInfo, err error) {
		page, next, err = l.fake.ListPage(ctx, prefix, cursor, limit)
		return page, err
	})
	return locks, next, err
}

func newLagging(lag time.Duration) (*lagging, *dashboard) {
	l := &lagging{fake: busyFake(), lag: lag}
	d := newDashboard(l, l, Config{Logger: slog.New(slog.DiscardHandler)})
	d.upcoming = func(jobs.Info, time.Time, int) []jobs.Upcoming { return nil }
	return l, d
}

// look is what somebody saw who loaded a page.
type look struct {
	load int // of the tab, from 0
	code int
	took time.Duration
	body string
}

// lookFrom loads a page from many tabs, each again and again as the script does.
func lookFrom(tabs, loads int, d *dashboard, page string) (looks []look) {
	var (
		mu      sync.Mutex // guards looks
		looking sync.WaitGroup
	)
	for i := range tabs {
		looking.Go(func() {
			time.Sleep(time.Duration(i) * 37 * time.Millisecond)
			for load := range loads {
				began := time.Now()
				w := get(d, page)
				mu.Lock()
				looks = append(looks, look{load, w.Code, time.Since(began), w.Body.String()})
				mu.Unlock()
				time.Sleep(2 * time.Second)
			}
		})
	}
	looking.Wait()
	return looks
}

var looked = []string{"", "jobs", "jobs?sort=next", "job?name=index", "run?id=report@7", "runs", "locks", "one-off"}

// A store that is slow is not one that does not answer, however many look.
func TestHandler_slowStore(t *testing.T) {
	for _, lag := range []time.Duration{1500 * time.Millisecond, 2 * time.Second} {
		for _, page := range looked {
			t.Run(fmt.Sprint(lag, page), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					_, d := newLagging(lag)
					failed := 0
					for _, l := range lookFrom(50, 10, d, page) {
						if l.code != 200 || l.took > storeTimeout || strings.Contains(l.body, "Who holds the locks is") {
							if failed++; failed == 1 {
								t.Errorf("load %d has status %d after %s:\n%s", l.load, l.code, l.took, l.body)
							}
						}
					}
					if failed > 0 {
						t.Errorf("%d of 500 loads failed", failed)
					}
				})
			})
		}
	}
}

// Pages wait no longer for a store that just answers in time, and show what is known as soon as it is. It is all known in the
// end.
func TestHandler_nearTheLimit(t *testing.T) {
	for _, lag := range []time.Duration{2400 * time.Millisecond, 3 * time.Second, 4900 * time.Millisecond} {
		for _, page := range looked {
			t.Run(fmt.Sprint(lag, page), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l, d := newLagging(lag)
					l.quick = []string{"latest", "runs"} // so that each question is answered in time
					if page == "run?id=report@7" {
						l.quick = append(l.quick, "status")
					}
					for _, l := range lookFrom(10, 10, d, page) {
						if l.took > storeTimeout {
							t.Fatalf("load %d took %s", l.load, l.took)
						}
						if l.load > 0 && l.code != 200 || l.load > 6 && strings.Contains(l.body, "Who holds the locks is") {
							t.Fatalf("load %d has status %d:\n%s", l.load, l.code, l.body)
						}
					}
				})
			})
		}
	}
}

// The end of a page's time is not told as silence of the store. What is known is shown as of its time. Without it the page says
// that there is no answer yet.
func TestHandler_noAnswerYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, d := newLagging(5100 * time.Millisecond)
		began := time.Now()
		w := get(d, "one-off")
		expect(t, w, 503, "the one-off jobs that wait and has not answered within 5 s yet", "data-unknown", "Nothing was known before")
		if took := time.Since(began); took > storeTimeout || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "did not answer in time") {
			t.Errorf("after %s, Retry-After %q:\n%s", took, w.Header().Get("Retry-After"), w.Body)
		}
		l.set(0)
		expect(t, get(d, "one-off"), 200, "welcome-42")
		known := time.Now().UTC().Format("15:04:05")
		time.Sleep(2 * time.Second)
		l.set(5100 * time.Millisecond)
		expect(t, get(d, "one-off"), 200, "The store is slow", "welcome-42", "As of <time", ">"+known+"</time> UTC on the store")
	})
}

// Each question is asked for a fifth of the time at most, however long the store takes and however many look.
func TestHandler_fifthOfTheTime(t *testing.T) {
	for _, lag := range []time.Duration{20 * time.Millisecond, 900 * time.Millisecond, 1500 * time.Millisecond, 4900 * time.Millisecond, time.Hour} {
		t.Run(lag.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, d := newLagging(lag)
				began := time.Now()
				lookFrom(3, 200, d, "one-off")
				total := time.Since(began)
				for what, trace := range l.trace {
					if trace.busy > total/5+storeTimeout {
						t.Errorf("%q is asked for %s of %s, %d times", what, trace.busy, total, trace.times)
					}
				}
			})
		})
	}
}
