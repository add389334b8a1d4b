package dashboard

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// slow is a cluster whose clock runs, and whose stores take their time.
type slow struct {
	*fake
	page, locks time.Duration
}

func (s *slow) Now() time.Time { return time.Now() }

func (s *slow) serve() *dashboard {
	d := newDashboard(s, s, Config{Logger: slog.New(slog.DiscardHandler)})
	d.upcoming = func(jobs.Info, time.Time, int) []jobs.Upcoming { return nil }
	return d
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slow) JobPage(ctx context.Context, q jobs.JobQuery) (jobs.JobPage, error) {
	if err := wait(ctx, s.page); err != nil {
		return jobs.JobPage{}, err
	}
	return s.fake.JobPage(ctx, q)
}

func (s *slow) Holder(ctx context.Context, key string) (lockrt.LockInfo, error) {
	if err := wait(ctx, s.locks); err != nil {
		return lockrt.LockInfo{}, err
	}
	return s.fake.Holder(ctx, key)
}

func (s *slow) ListPage(ctx context.Context, prefix, cursor string, limit int) ([]lockrt.LockInfo, string, error) {
	if err := wait(ctx, s.locks); err != nil {
		return nil, "", err
	}
	return s.fake.ListPage(ctx, prefix, cursor, limit)
}

// A page says as of when its oldest answer was asked for, also if others are newer.
func TestAsk_asOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for page, s := range map[string]*slow{
			"jobs":  {fake: busyFake(), page: 3 * time.Second},
			"locks": {fake: busyFake(), locks: 3 * time.Second},
		} {
			d := s.serve()
			asked := `As of <time datetime="` + time.Now().UTC().Format(time.RFC3339Nano) + `"`
			expect(t, get(d, page), 200, asked)
			time.Sleep(8 * time.Second)
			expect(t, get(d, page), 200, asked)
			time.Sleep(8 * time.Second)
			asked = `As of <time datetime="` + time.Now().UTC().Format(time.RFC3339Nano) + `"`
			expect(t, get(d, page), 200, asked)
		}
	})
}

// The store of the locks does not answer, that of the jobs does: pages of jobs are as they are, without the holders.
func TestHandler_locksSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{fake: busyFake(), locks: time.Hour}
		d := s.serve()
		const unknown = "Who holds the locks is unknown since 00:00:00 UTC, "
		missed := time.Now()
		expect(t, get(d, "jobs"), 200, "Who holds the locks is not known yet", "unknown</td>", "Europe/Vienna")
		if took := time.Since(missed); took > storeTimeout {
			t.Errorf("the page took %s", took)
		}
		expect(t, get(d, "jobs"), 200, unknown, "unknown</td>", "Europe/Vienna")
		began := time.Now()
		for _, page := range []string{"jobs", "job?name=index", "job?name=report", "jobs?q=index"} {
			expect(t, get(d, page), 200, "Who holds the locks is unknown since", "index")
		}
		expect(t, get(d, "locks"), 503, "Unknown since", "did not answer in time")
		if took := time.Since(began); took > 0 {
			t.Errorf("pages waited %s for a store that is known to be silent", took)
		}
		unknownSince := `Unknown since <time datetime="` + missed.UTC().Format(time.RFC3339Nano) + `"`
		s.statuses[2].Running = nil
		time.Sleep(freshFor)
		expect(t, get(d, "locks"), 503, unknownSince)
		if w := get(d, "job?name=index"); w.Code != 200 || strings.Contains(w.Body.String(), "Running now") {
			t.Errorf("%d: a second later the page does not know that the run has ended", w.Code)
		}
		s.locks = 0
		time.Sleep(4 * probeTimeout)
		if w := get(d, "jobs"); w.Code != 200 || strings.Contains(w.Body.String(), "unknown since") {
			t.Errorf("the store answers again:\n%s", w.Body)
		}
		expect(t, get(d, "job?name=index"), 200, "held by node-2")
		expect(t, get(d, "locks"), 200, "order:42", "The store answers again")
	})
}

// setClock is a cluster whose nodes live, and whose store's clock is set. A process hears of that when it asks for the nodes.
type setClock struct {
	*lagging
	set    time.Duration
	learnt atomic.Int64 // nanoseconds
}

func (c *setClock) Now() time.Time { return time.Now().Add(time.Duration(c.learnt.Load())) }

func (c *setClock) Nodes(ctx context.Context) ([]jobs.Node, error) {
	return lagged(c.lagging, ctx, "nodes", func() ([]jobs.Node, error) {
		c.learnt.Store(int64(c.set))
		return []jobs.Node{{Name: "node-1", Session: "s", Heartbeat: c.Now(), Started: c.Now()}}, nil
	})
}

// While a page shows what was known before the store's clock was set, that is as old as it is, and so are the times in it.
func TestHandler_clockSet(t *testing.T) {
	for _, set := range []time.Duration{-time.Hour, -20 * time.Second, 20 * time.Second, time.Hour} {
		for _, lag := range []time.Duration{10 * time.Millisecond, 2 * time.Second, time.Hour} {
			for _, but := range []string{"nobody", "nodes"} { // but those the store answers at once
				t.Run(fmt.Sprint(set, lag, but), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { testClockSet(t, set, lag, but) })
				})
			}
		}
	}
}

func testClockSet(t *testing.T, set, lag time.Duration, quick string) {
	l, _ := newLagging(10 * time.Millisecond)
	c := &setClock{lagging: l}
	d := newDashboard(c, l, Config{Logger: slog.New(slog.DiscardHandler)})
	d.upcoming = func(jobs.Info, time.Time, int) []jobs.Upcoming { return nil }
	get(d, "")
	began := time.Now()
	c.set = set
	l.set(lag)
	if quick == "nodes" {
		l.quick = []string{"nodes", "count", "running"}
	} else {
		c.learnt.Store(int64(set))
	}
	for time.Since(began) < 20*time.Second {
		body := get(d, "").Body.String()
		if strings.Contains(body, ">silent<") {
			t.Fatalf("after %s a node that lives is called silent", time.Since(began))
		}
		_, made, _ := strings.Cut(body, `id="made" data-live>`)
		_, made, _ = strings.Cut(made, `datetime="`)
		made, _, _ = strings.Cut(made, `"`)
		at, err := time.Parse(time.RFC3339Nano, made)
		if age := c.Now().Sub(at); err != nil || age < -time.Second || age > time.Since(began)+time.Second {
			t.Errorf("after %s the page is of %s, %s ago (%v)", time.Since(began), made, age, err)
		}
		time.Sleep(time.Second)
	}
}
