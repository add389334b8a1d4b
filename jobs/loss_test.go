package jobs_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// lossy is a cluster with jobs of several kinds, for a store that loses data.
type lossy struct {
	*jobstest.Cluster
	t      *testing.T
	log    bytes.Buffer
	logger *slog.Logger // one for all nodes: it writes one line at a time
	nodes  []*jobstest.Node

	mu   sync.Mutex
	once map[string]int // guarded by mu
}

var lossyJobs = map[string]Job{
	"often": {Spec: "*/10 * * * * *", Misfire: MisfireAll},
	"long":  {Spec: "* * * * *", Misfire: MisfireAll},
	"rare":  {Spec: "*/5 * * * *", Misfire: MisfireOnce},
	"off":   {Spec: "* * * * *"},
	"on":    {Spec: "* * * * *"},
}

func newLossy(t *testing.T, c *jobstest.Cluster) *lossy {
	w := &lossy{Cluster: c, t: t, once: make(map[string]int)}
	w.logger = slog.New(slog.NewTextHandler(&w.log, nil))
	for range 3 {
		w.begin()
		time.Sleep(350 * time.Millisecond)
	}
	return w
}

func (w *lossy) begin() {
	n := w.Node(Config{Logger: w.logger, History: 1000}, 0)
	for name, j := range lossyJobs {
		takes := time.Second
		if name == "long" {
			takes = 45 * time.Second
		}
		j.Name, j.Run = name, jobstest.Sleep(takes)
		n.MustAdd(j)
	}
	if err := n.AddHandler(Handler{Name: "h", Run: func(_ context.Context, id string, _ []byte) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.once[id]++
		return nil
	}}); err != nil {
		w.t.Fatal(err)
	}
	n.Start()
	w.nodes = append(w.nodes, n)
}

// ran returns how often a one-off job has begun.
func (w *lossy) ran(id string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.once[id]
}

func (w *lossy) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestScheduler_flush flushes the store at all kinds of moments: all ticks run once, also those that are due just then
// and those at work, pauses stay, one-off jobs run once, and the log says what happened. A node that is new just then
// makes no difference.
func TestScheduler_flush(t *testing.T) {
	t.Parallel()
	for round := range rounds(8, 4) {
		jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
			w, ctx := newLossy(t, c), context.Background()
			time.Sleep(time.Until(time.Now().Truncate(5 * time.Minute).Add(5 * time.Minute)))
			from := time.Now()
			time.Sleep(90 * time.Second)
			w.must(w.nodes[0].Pause(ctx, "off", "ada", "broken"))
			w.must(w.nodes[0].Pause(ctx, "on", "ada", ""))
			w.must(w.nodes[1].Resume(ctx, "on", "ada"))
			w.must(w.nodes[1].At(ctx, "h", "past", time.Now(), nil))
			w.must(w.nodes[1].At(ctx, "h", "future", time.Now().Add(15*time.Minute), nil))
			w.must(w.nodes[1].At(ctx, "h", "withdrawn", time.Now().Add(15*time.Minute), nil))
			time.Sleep(2 * time.Second)
			w.must(w.nodes[1].Withdraw(ctx, "withdrawn"))
			// In the second before a tick of all jobs, and after it.
			time.Sleep(time.Until(from.Add(5*time.Minute - time.Second + time.Duration(round)*293*time.Millisecond)))
			c.Flush()
			if round%2 == 1 {
				w.begin()
			}
			time.Sleep(16 * time.Minute)
			view, err := c.Store.Look(ctx, []string{"off", "on"})
			if err != nil || view.Jobs[0].Paused == nil || view.Jobs[0].Paused.Reason != "broken" ||
				view.Jobs[1].Paused != nil {
				t.Errorf("%+v, %v; want off paused by ada, and on not", view, err)
			}
			to := time.Now()
			c.Stop()
			for _, name := range []string{"often", "long", "rare"} {
				w.expectOnce(name, from, to)
			}
			if w.once["past"] != 1 || w.once["future"] != 1 || w.once["withdrawn"] != 0 {
				t.Errorf("one-off jobs ran %v, want past and future once", w.once)
			}
			if !strings.Contains(w.log.String(), "job store has lost data") {
				t.Error("the log does not tell of the loss")
			}
		})
	}
}

// expectOnce checks what OnRun told: every tick ended in one run that is ok.
func (w *lossy) expectOnce(name string, from, to time.Time) {
	w.t.Helper()
	ok := make(map[time.Time]int)
	for _, r := range w.Finished(name) {
		if r.Outcome == OutcomeOK {
			ok[r.Tick]++
		}
	}
	for _, tick := range w.Ticks(lossyJobs[name].Spec, from, to.Add(-time.Minute)) {
		if ok[tick] != 1 {
			w.t.Errorf("%s: tick %s ran %d times", name, tick, ok[tick])
		}
	}
}

// TestScheduler_rewind takes the store back to an older state: no tick of a living node runs twice, a resume stands,
// and one-off jobs run once.
func TestScheduler_rewind(t *testing.T) {
	t.Parallel()
	for round := range rounds(6, 2) {
		jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
			random := rand.New(rand.NewPCG(uint64(round), 7))
			w, ctx := newLossy(t, c), context.Background()
			time.Sleep(time.Until(time.Now().Truncate(5 * time.Minute).Add(5 * time.Minute)))
			from := time.Now()
			w.must(w.nodes[0].Pause(ctx, "on", "ada", ""))
			for i := range 20 {
				time.Sleep(time.Duration(random.Int64N(int64(time.Minute))))
				restore := c.Snapshot()
				id := fmt.Sprint("x", i)
				w.must(w.nodes[1].At(ctx, "h", id, time.Now().Add(5*time.Second), nil))
				if i == 0 {
					w.must(w.nodes[0].Resume(ctx, "on", "ada"))
				}
				time.Sleep(time.Duration(random.Int64N(int64(20*time.Second))) + 1500*time.Millisecond)
				restore()
				time.Sleep(time.Minute)
				if n := w.ran(id); n != 1 {
					t.Errorf("one-off job %s ran %d times", id, n)
				}
			}
			to := time.Now()
			if view, err := c.Store.Look(ctx, []string{"on"}); err != nil || view.Jobs[0].Paused != nil {
				t.Errorf("%+v, %v; want on resumed", view, err)
			}
			c.Stop()
			for _, name := range []string{"often", "long", "rare"} {
				w.expectOnce(name, from, to)
			}
		})
	}
}

// TestScheduler_flush_holds has a node that has not heard of the last tick be the first to register after the store has
// forgotten all: it claims nothing until the one that has run the tick can have said so.
func TestScheduler_flush_holds(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		var nodes []*jobstest.Node
		for range 2 {
			n := c.Node(Config{Heartbeat: 10 * time.Second}, 0)
			n.MustAdd(Job{Name: "j", Spec: "*/10 * * * *", Run: jobstest.Sleep(time.Millisecond)})
			n.Start()
			nodes = append(nodes, n)
		}
		from := time.Now()
		for range 40 {
			time.Sleep(time.Until(time.Now().Truncate(10 * time.Minute).Add(10*time.Minute - time.Second)))
			nodes[1].CutJobs(true)
			time.Sleep(1500 * time.Millisecond)
			c.Flush()
			nodes[1].CutJobs(false)
		}
		time.Sleep(5 * time.Minute)
		to := time.Now()
		c.Stop()
		ran := make(map[time.Time]int)
		for _, r := range c.Finished("j") {
			ran[r.Tick]++
		}
		for _, tick := range c.Ticks("*/10 * * * *", from, to) {
			if ran[tick] != 1 {
				t.Errorf("tick %s has run %d times", tick, ran[tick])
			}
		}
	})
}

// TestScheduler_rewind_overAnEnd takes the store back to before the end of a run that its node has recorded: the record
// comes back as it was, and the tick is not run again.
func TestScheduler_rewind_overAnEnd(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		for range 2 {
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "1 * * * *", Retries: 3, Run: jobstest.Sleep(20 * time.Second)})
			n.Start()
		}
		time.Sleep(time.Minute + 10*time.Second)
		restore := c.Snapshot()
		time.Sleep(30 * time.Second)
		restore()
		time.Sleep(2 * time.Minute)
		if runs := c.Recorded("j"); jobstest.Outcomes(runs) != "ok" || len(c.Finished("j")) != 1 {
			t.Errorf("records %+v, told of %+v; want the run as it ended", runs, c.Finished("j"))
		}
		c.Stop()
	})
}

// TestScheduler_flush_withdrawn has one-off jobs withdrawn by a scheduler that does not run, and the store lose its data
// two heartbeats later: the node that has put them does not put them back.
func TestScheduler_flush_withdrawn(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		n, outside := c.Node(Config{}, 0), c.Node(Config{}, 0)
		var withdrawn, kept atomic.Int32
		if err := n.AddHandler(Handler{Name: "h", Run: func(_ context.Context, id string, _ []byte) error {
			if id == "kept" {
				kept.Add(1)
			} else {
				withdrawn.Add(1)
			}
			return nil
		}}); err != nil {
			t.Fatal(err)
		}
		n.Start()
		time.Sleep(3 * time.Second)
		at := time.Now().Add(time.Minute)
		for _, id := range []string{"withdrawn", "kept"} {
			if err := n.At(ctx, "h", id, at, nil); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(3 * time.Second)
		if err := outside.Withdraw(ctx, "withdrawn"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		c.Flush()
		time.Sleep(2 * time.Minute)
		c.Stop()
		if withdrawn.Load() != 0 || kept.Load() != 1 {
			t.Errorf("after the loss ran what was withdrawn %d times, and the other %d times", withdrawn.Load(), kept.Load())
		}
	})
}

// TestScheduler_flush_withdrawnMany is the same for more one-off jobs than a heartbeat asks about: each is asked about in
// its turn.
func TestScheduler_flush_withdrawnMany(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		const many = 2000
		ctx := context.Background()
		n, outside := c.Node(Config{}, 0), c.Node(Config{}, 0)
		if err := n.AddHandler(Handler{Name: "h", Run: func(context.Context, string, []byte) error { return nil }}); err != nil {
			t.Fatal(err)
		}
		n.Start()
		time.Sleep(3 * time.Second)
		for i := range many {
			if err := n.At(ctx, "h", fmt.Sprint(i), time.Now().Add(time.Hour), nil); err != nil {
				t.Fatal(err)
			}
		}
		for i := 0; i < many; i += 10 {
			if err := outside.Withdraw(ctx, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep((many/256 + 2) * time.Second)
		c.Flush()
		time.Sleep(10 * time.Second)
		if left, err := outside.Waiting(ctx, 2*many); err != nil || len(left) != many-many/10 {
			t.Errorf("after the loss %d one-off jobs wait, %v; want the %d that were not withdrawn", len(left), err, many-many/10)
		}
		c.Stop()
	})
}
