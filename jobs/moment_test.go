package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// TestScheduler_storeAwayAtTheBegin has a run wait for its lock, and the store of jobs go away before it has that: the
// record says when the work began, not when the node first asked for it; and with misfire skip it does not begin when
// it is too late.
func TestScheduler_storeAwayAtTheBegin(t *testing.T) {
	t.Parallel()
	for _, misfire := range []Misfire{MisfireOnce, MisfireSkip} {
		t.Run(string(misfire), func(t *testing.T) {
			jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
				n := c.Node(Config{}, 0)
				lease, err := n.Locker().Acquire(context.Background(), "job:j", lockOptions)
				if err != nil {
					t.Fatal(err)
				}
				n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Misfire: misfire, Overlap: OverlapQueue,
					Run: jobstest.Sleep(time.Second)})
				n.Start()
				time.Sleep(61 * time.Second)
				n.CutJobs(true)
				time.Sleep(time.Second)
				if err := lease.Release(context.Background()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * time.Minute)
				back := time.Now()
				n.CutJobs(false)
				time.Sleep(time.Minute)
				c.Stop()
				runs := c.Recorded("j")
				switch {
				case len(runs) != 1:
					t.Errorf("records %+v, want one", runs)
				case misfire == MisfireSkip && (runs[0].Outcome != OutcomeSkipped || !runs[0].Started.IsZero() ||
					!strings.Contains(runs[0].Reason, "too late")):
					t.Errorf("record %+v, want it skipped", runs[0])
				case misfire == MisfireOnce && (runs[0].Started.Before(back) ||
					runs[0].Ended.Sub(runs[0].Started).Round(time.Millisecond) != time.Second):
					t.Errorf("record %+v, want it begun after %s, and a second long", runs[0], back)
				}
			})
		})
	}
}

// TestScheduler_drainBelowThirtySeconds drains by default with a run that ignores its context, with and without the
// store: it is over before a platform that waits for 30 s kills the process.
func TestScheduler_drainBelowThirtySeconds(t *testing.T) {
	t.Parallel()
	for _, away := range []bool{false, true} {
		jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "1 * * * *",
				Run: func(context.Context) error { time.Sleep(time.Hour); return nil }})
			n.Start()
			time.Sleep(time.Minute + time.Second)
			n.CutJobs(away)
			began := time.Now()
			err := n.Shutdown()
			if took := time.Since(began); err == nil || took >= 30*time.Second {
				t.Errorf("with the store away (%t): Run = %v after %s, want an error within 30 s", away, err, took)
			}
			n.CutJobs(false)
			n.Forgive()
			time.Sleep(time.Hour)
			c.Stop()
		})
	}
}

// TestScheduler_keysFunc changes what the locks of a job depend on: each tick takes those of its own time.
func TestScheduler_keysFunc(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		var shop atomic.Value
		shop.Store("a")
		var took []string
		n.MustAdd(Job{
			Name: "j", Spec: "* * * * *", KeysFunc: func() ([]string,
				error) {
				return []string{"shop:" + shop.Load().(string)}, nil
			},
			Run: func(ctx context.Context) error {
				held, err := n.Locker().List(ctx, "")
				for _, lock := range held {
					took = append(took, lock.Key)
				}
				return err
			},
		})
		n.Start()
		time.Sleep(90 * time.Second)
		shop.Store("b")
		time.Sleep(time.Minute)
		c.Stop()
		if !slices.Equal(took, []string{"shop:a", "shop:b"}) {
			t.Errorf("locks %q, want that of each tick's own time", took)
		}
	})
}

// TestNew_telemetryOfTheLocker gives providers to the Locker only.
func TestNew_telemetryOfTheLocker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := sdkmetric.NewManualReader()
		locks, err := lockrt.New(memstore.New(),
			lockrt.Config{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(locks, Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(Job{Name: "j", Spec: "* * * * *", Run: jobstest.Sleep(0)}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
		defer cancel()
		if err := errors.Join(s.Run(ctx), locks.Close(context.Background())); err != nil {
			t.Error(err)
		}
		if got := attributesOf(t, reader, "lockgen.job.duration"); got["j ok"] < 1 {
			t.Errorf("durations %v, want the run's", got)
		}
	})
}

// TestScheduler_Resume_byAStranger resumes a job from a scheduler that does not have it: the record tells of all ticks
// meanwhile.
func TestScheduler_Resume_byAStranger(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		n, stranger := c.Node(Config{}, 0), c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "j", Spec: "*/5 * * * *", TZ: "Asia/Kathmandu", Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(6 * time.Minute)
		for _, author := range []string{"ada", "bob"} {
			if err := stranger.Pause(ctx, "j", author, ""); err != nil {
				t.Fatal(err)
			}
			time.Sleep(9 * time.Minute)
		}
		if err := stranger.Resume(ctx, "j", "cid"); err != nil {
			t.Fatal(err)
		}
		r := c.Recorded("j")[0]
		at := func(minutes int) time.Time { return jobstest.Start.Add(time.Duration(minutes) * time.Minute) }
		if !r.First.Equal(at(10)) || !r.Tick.Equal(at(20)) || r.Ticks != 3 ||
			!strings.Contains(r.Reason, "paused by bob from 2000-01-01T00:06:00Z") {
			t.Errorf("record %+v, want the three ticks from 10 to 20 past, by the first pause's time", r)
		}
		c.Stop()
	})
}

// moving is a store of a cluster that moves what the calls are about from one server to another.
type moving struct {
	Store
	moves atomic.Bool
}

// errMoving is what redisstore makes of such an error of go-redis.
var errMoving = fmt.Errorf("claim a tick of job %q in Redis: %w", "j", serverError("TRYAGAIN Multiple keys request during rehashing of slot"))

type serverError string

func (e serverError) Error() string { return string(e) }

func (s *moving) Claim(ctx context.Context, claims []Claim) []Claimed {
	if s.moves.Load() {
		return slices.Repeat([]Claimed{{Err: errMoving}}, len(claims))
	}
	return s.Store.Claim(ctx, claims)
}

func (s *moving) Heartbeat(ctx context.Context, b Heartbeat) (HeartbeatReply, error) {
	if s.moves.Load() {
		return HeartbeatReply{}, errMoving
	}
	return s.Store.Heartbeat(ctx, b)
}

// TestScheduler_slotMoves has the store put calls off for a moment: that is no outage, and the tick runs.
func TestScheduler_slotMoves(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var log testsync.Log
		store := &moving{Store: c.Store}
		n := c.Node(Config{Store: store, Logger: log.Logger()}, 0)
		n.MustAdd(Job{Name: "j", Spec: "* * * * *", Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(59 * time.Second)
		store.moves.Store(true)
		time.Sleep(3 * time.Second)
		err := n.Err()
		store.moves.Store(false)
		time.Sleep(10 * time.Second)
		c.Stop()
		if strings.Contains(log.String(), "level=ERROR") || err != nil {
			t.Errorf("Err = %v, log %s; want no word of an outage", err, log.String())
		}
		if got := jobstest.Outcomes(c.Recorded("j")); got != "ok" {
			t.Errorf("runs %q, want one", got)
		}
	})
}
