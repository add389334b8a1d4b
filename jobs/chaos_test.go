package jobs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_chaos runs 50 nodes with clocks up to 30 s off for 100,000 ticks, through frozen and crashed nodes,
// stores that are away, lost answers, and deploys with another spec: no tick runs twice, none is missed, and each has a
// record. The seed is printed when it fails; LOCKGEN_SEED repeats it.
func TestScheduler_chaos(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("LOCKGEN_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("LOCKGEN_SEED=%q is no number", text)
		}
		seed = n
	}
	world := chaosFull
	if os.Getenv("LOCKGEN_SOAK") == "" {
		world = chaosShort
	}
	t.Logf("LOCKGEN_SEED=%d repeats this", seed)
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		w := &chaos{
			Cluster: c, size: world, t: t, rand: rand.New(rand.NewPCG(seed, 1)),
			starts: make(map[tickOf]int), slots: make([]*jobstest.Node, world.nodes),
		}
		w.run()
		w.judge()
	})
}

type chaosSize struct{ nodes, jobs, minutes int }

var (
	chaosFull  = chaosSize{nodes: 50, jobs: 200, minutes: 600} // half of the jobs have every other minute for a while
	chaosShort = chaosSize{nodes: 10, jobs: 20, minutes: rounds(120, 60)}
)

type tickOf struct {
	job  string
	tick time.Time
}

// chaos is the world of one seed.
type chaos struct {
	*jobstest.Cluster
	size  chaosSize
	t     *testing.T
	rand  *rand.Rand
	from  time.Time
	to    time.Time
	slots []*jobstest.Node // running

	mu     sync.Mutex
	starts map[tickOf]int // how often work began, on nodes that were alive
	total  int
}

// specs of a job before and after the deploy. All ticks that both have must run, whatever happens.
func (w *chaos) specs(job int) (before, after, both string) {
	switch job % 4 {
	case 0:
		return "* * * * *", "*/2 * * * *", "*/2 * * * *"
	case 1:
		return "*/2 * * * *", "* * * * *", "*/2 * * * *"
	}
	return "* * * * *", "* * * * *", "* * * * *"
}

func jobName(job int) string { return fmt.Sprint("job-", job) }

// begin starts a node in a slot.
func (w *chaos) begin(slot int, deployed bool) {
	skew := time.Duration(w.rand.Int64N(int64(time.Minute))) - 30*time.Second
	n := w.Node(Config{History: 10_000, DrainTimeout: 5 * time.Second}, skew)
	for job := range w.size.jobs {
		spec, after, _ := w.specs(job)
		if deployed {
			spec = after
		}
		takes := time.Duration(w.rand.Int64N(int64(3 * time.Second)))
		n.MustAdd(Job{
			Name: jobName(job), Spec: spec, Misfire: MisfireAll, MisfireCap: 10_000, Overlap: OverlapQueue,
			Run: func(ctx context.Context) error {
				w.began(ctx, n)
				return jobstest.Sleep(takes)(ctx)
			},
		})
	}
	n.Start()
	w.slots[slot] = n
}

func (w *chaos) began(ctx context.Context, n *jobstest.Node) {
	name, tick, _ := TickFromContext(ctx)
	if n.Crashed() {
		return // a process that is dead does nothing
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.starts[tickOf{name, tick.UTC()}]++
	w.total++
}

// run has something happen every minute, and then lets the dust settle.
func (w *chaos) run() {
	for slot := range w.slots {
		w.begin(slot, false)
	}
	time.Sleep(10 * time.Second)
	w.from = time.Now()
	for minute := range w.size.minutes {
		deployed := minute > w.size.minutes/2
		// Mostly while runs are claimed, wait for their locks, begin and end.
		at := time.Duration(w.rand.Int64N(int64(4 * time.Second)))
		if w.rand.IntN(4) == 0 {
			at *= 14
		}
		next := time.Now().Truncate(time.Minute).Add(time.Minute)
		time.Sleep(time.Until(next.Add(at)))
		w.trouble(minute, deployed)
	}
	w.Outage(false)
	for _, n := range w.slots {
		n.Thaw()
	}
	w.to = time.Now()
	time.Sleep(10 * time.Minute)
	for _, n := range w.Nodes() {
		n.Stop()
	}
}

func (w *chaos) trouble(minute int, deployed bool) {
	slot := w.rand.IntN(len(w.slots))
	n := w.slots[slot]
	switch w.rand.IntN(8) {
	case 0:
		n.Crash()
		w.begin(slot, deployed)
	case 1:
		n.Stop()
		w.begin(slot, deployed)
	case 2:
		n.Freeze()
		time.AfterFunc(time.Duration(w.rand.Int64N(int64(3*time.Minute))), n.Thaw)
	case 3:
		n.CutJobs(true)
		time.AfterFunc(time.Duration(w.rand.Int64N(int64(3*time.Minute))), func() { n.CutJobs(false) })
	case 4:
		n.CutLocks(true)
		time.AfterFunc(time.Duration(w.rand.Int64N(int64(3*time.Minute))), func() { n.CutLocks(false) })
	case 5:
		n.DropReplies(1 + w.rand.IntN(20))
	}
	if minute%60 == 30 {
		w.Outage(true)
		time.AfterFunc(time.Duration(w.rand.Int64N(int64(2*time.Minute))), func() { w.Outage(false) })
	}
	if deployed { // some nodes a minute, until all have the new specs
		for range 2 {
			slot := w.rand.IntN(len(w.slots))
			w.slots[slot].Stop()
			w.begin(slot, true)
		}
	}
}

// judge holds what happened against what was promised.
func (w *chaos) judge() {
	for at, n := range w.starts {
		if n > 1 {
			w.t.Errorf("%s: tick %s began %d times", at.job, at.tick, n)
		}
	}
	ok, lost := 0, 0
	for job := range w.size.jobs {
		name := jobName(job)
		records := make(map[time.Time][]Run)
		all, err := w.Store.Runs(context.Background(), []string{name}, 10_000)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range all[0] {
			records[r.Tick] = append(records[r.Tick], r)
		}
		_, _, both := w.specs(job)
		for _, tick := range w.Ticks(both, w.from, w.to) {
			runs := records[tick]
			if len(runs) == 0 {
				w.t.Errorf("%s: tick %s was missed", name, tick)
				continue
			}
			switch last := runs[0]; { // the latest first
			case last.Outcome == OutcomeOK && w.starts[tickOf{name, tick}] == 1:
				ok++
			case !last.Started.IsZero() && last.Outcome != OutcomeSkipped:
				lost++ // it had begun when its node or its lock went, and Retries is 0
			default:
				w.t.Errorf("%s: tick %s ended as %s, %s, without having been run", name, tick, last.Outcome,
					last.Reason)
			}
		}
	}
	w.t.Logf("%d begun; of those that both specs have %d ok, %d interrupted; %d nodes in all", w.total, ok, lost,
		len(w.Nodes()))
}
