package jobs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_changedSpec deploys a spec of every five minutes over a daily one at noon: nothing that it would have
// had before is missed, whatever the policy.
func TestScheduler_changedSpec(t *testing.T) {
	t.Parallel()
	for _, misfire := range []Misfire{MisfireSkip, MisfireOnce, MisfireAll} {
		jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
			begin := func(spec, zone string) *jobstest.Node {
				n := c.Node(Config{Heartbeat: time.Minute}, 0)
				n.MustAdd(Job{Name: "j", Spec: spec, TZ: zone, Misfire: misfire, Run: jobstest.Sleep(time.Second)})
				n.Start()
				time.Sleep(time.Second)
				return n
			}
			old := begin("0 3 * * *", "UTC")
			time.Sleep(12 * time.Hour)
			old.Stop()
			begin("*/5 * * * *", "UTC").Stop()
			time.Sleep(6*time.Minute + 30*time.Second) // one tick of the new spec is missed
			n := begin("*/5 * * * *", "Asia/Tokyo")
			time.Sleep(time.Minute)
			n.Stop()
			var got []string
			for _, r := range c.Finished("j") {
				got = append(got, fmt.Sprint(r.Tick.Format("15:04 "), r.Outcome, r.Ticks))
			}
			want := []string{"03:00 ok0", "12:05 ok0"}
			if misfire == MisfireSkip {
				want[1] = "12:05 skipped0"
			}
			if !slices.Equal(got, want) {
				t.Errorf("misfire %s: %q, want %q", misfire, got, want)
			}
			if missed, err := c.Store.Look(context.Background(), []string{"j"}); err != nil ||
				missed.Jobs[0].Missed > 1 {
				t.Errorf("misfire %s: %d missed, %v", misfire, missed.Jobs[0].Missed, err)
			}
		})
	}
}

// deployWorld is a random sequence of deploys of one job, with an oracle: the versions in the order in which they first
// came, the one in force at each moment, and with it the ticks that are owed.
type deployWorld struct {
	*jobstest.Cluster
	t     *testing.T
	rand  *rand.Rand
	specs []deploySpec // in the order in which the store saw them
	nodes map[*jobstest.Node]int
	line  []deployed
}

type deploySpec struct{ spec, zone string }

type deployed struct {
	since   time.Time
	version int
}

var deploySpecs = []deploySpec{
	{"*/7 * * * *", "UTC"}, {"*/5 * * * *", "UTC"}, {"3 */2 * * *", "Asia/Tokyo"}, {"3 */2 * * *", "Asia/Kolkata"},
	{"30 1-23/3 * * *", "America/New_York"}, {"@every 11m", ""}, {"10 2,4,9 * * *", "Europe/Berlin"},
}

func (w *deployWorld) begin(spec deploySpec) {
	n := w.Node(Config{Heartbeat: 10 * time.Second}, 0)
	n.MustAdd(Job{Name: "j", Spec: spec.spec, TZ: spec.zone, Misfire: MisfireAll, MisfireCap: 10_000,
		Run: jobstest.Sleep(time.Second)})
	n.Start()
	version := slices.Index(w.specs, spec)
	if version < 0 {
		version = len(w.specs)
		w.specs = append(w.specs, spec)
	}
	w.nodes[n] = version
	time.Sleep(2 * time.Second)
}

// note changes the oracle's mind about what is in force. Without nodes what was in force stays so.
func (w *deployWorld) note() {
	if len(w.nodes) == 0 {
		return
	}
	newest := -1
	for _, version := range w.nodes {
		newest = max(newest, version)
	}
	if n := len(w.line); n == 0 || w.line[n-1].version != newest {
		w.line = append(w.line, deployed{time.Now(), newest})
	}
}

// TestScheduler_deploys makes random sequences of deploys, restarts, roll-backs and outages with several versions of a
// spec alive, in any order of starts, and holds the ticks that ran against the oracle's: each once, whatever happened
// meanwhile. What is due within half a minute of a change may belong to either side.
func TestScheduler_deploys(t *testing.T) {
	t.Parallel()
	seeds := rounds(3, 1)
	if os.Getenv("LOCKGEN_SOAK") != "" {
		seeds = 100
	}
	for seed := range uint64(seeds) {
		jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
			w := &deployWorld{Cluster: c, t: t, rand: rand.New(rand.NewPCG(seed, 3)),
				nodes: make(map[*jobstest.Node]int)}
			for range 30 {
				w.step()
				time.Sleep(time.Duration(w.rand.Int64N(int64(2*time.Hour))) + time.Minute)
			}
			if len(w.nodes) == 0 {
				w.begin(deploySpecs[0])
				w.note()
			}
			time.Sleep(time.Hour)
			end := time.Now()
			time.Sleep(5 * time.Minute)
			c.Stop()
			w.judge(end, seed)
		})
	}
}

func (w *deployWorld) step() {
	running := slices.SortedFunc(func(yield func(*jobstest.Node) bool) {
		for n := range w.nodes {
			if !yield(n) {
				return
			}
		}
	}, func(a, b *jobstest.Node) int { return slices.Index(w.Nodes(), a) - slices.Index(w.Nodes(), b) })
	switch what := w.rand.IntN(5); {
	case what < 3 || len(running) == 0:
		w.begin(deploySpecs[w.rand.IntN(len(deploySpecs))])
		w.note()
	default:
		n := running[w.rand.IntN(len(running))]
		if delete(w.nodes, n); what == 3 {
			n.Stop()
		} else {
			n.Crash()
		}
		time.Sleep(time.Minute) // until it is known to be gone
		w.note()
	}
}

func (w *deployWorld) judge(end time.Time, seed uint64) {
	ran := make(map[time.Time]int)
	for _, r := range w.Finished("j") {
		if r.Outcome == OutcomeOK || r.Outcome == OutcomeLost {
			ran[r.Tick]++
		} else {
			w.t.Errorf("seed %d: %+v, want it run", seed, r)
		}
	}
	want := make(map[time.Time]bool)
	for i, d := range w.line {
		until := end
		if i+1 < len(w.line) {
			until = w.line[i+1].since
		}
		spec := w.specs[d.version]
		text := spec.spec
		if spec.zone != "" {
			text = "CRON_TZ=" + spec.zone + " " + text
		}
		for _, tick := range w.Ticks(text, d.since, until) {
			want[tick] = true
		}
	}
	edge := func(tick time.Time) bool {
		return tick.After(end) || slices.ContainsFunc(w.line,
			func(d deployed) bool { return tick.Sub(d.since).Abs() < 30*time.Second })
	}
	for tick := range want {
		if ran[tick] != 1 && !edge(tick) {
			w.t.Errorf("seed %d: tick %s ran %d times", seed, tick, ran[tick])
		}
	}
	for tick, n := range ran {
		if (n > 1 || !want[tick]) && !edge(tick) {
			w.t.Errorf("seed %d: tick %s ran %d times, and belongs to no timing in force", seed, tick, n)
		}
	}
}
