package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// killed is a cluster in which node-3 died in a run, which node-2 began again.
func killed() *fake {
	f := busyFake()
	tick := noon.Add(-2 * time.Minute)
	lost := jobs.Run{ID: "report@lost", Job: "report", Tick: tick, Claimed: tick, Started: tick, Ended: tick.Add(80 * time.Second),
		Node: "node-3", Outcome: jobs.OutcomeLost, Attempt: 1, Trigger: jobs.TriggerSchedule, Reason: "its node died"}
	again := jobs.Run{ID: "report@again", Job: "report", Tick: tick, Claimed: lost.Ended, Started: lost.Ended,
		Ended: lost.Ended.Add(10 * time.Second), Node: "node-2", Outcome: jobs.OutcomeOK, Attempt: 2, Trigger: jobs.TriggerRecovery}
	f.runs = append([]jobs.Run{again, lost}, f.runs...)
	return f
}

// A kill is a bar that breaks off at the last sign of life of its node, and begins again in another lane.
func TestTimeline_kill(t *testing.T) {
	h := killed().serve(operator)
	for _, page := range []string{"", "job?name=report"} {
		body := get(h, page).Body.String()
		for _, want := range []string{`class="timeline"`, `class="bar bad broken"`, `class="join"`, `href="run?id=report%40lost"`,
			`href="run?id=report%40again"`, ", attempt 2", `class="tick good"`} {
			if !strings.Contains(body, want) {
				t.Errorf("%q: has no %s", page, want)
			}
		}
		if n := strings.Count(body, `class="join"`); n != 1 {
			t.Errorf("%q: %d joins", page, n)
		}
	}
	q := &request{d: newDashboard(killed(), killed(), operator), now: noon}
	heard := noon.Add(-time.Minute)
	bar := q.bar(killed().runs[1], []jobs.Node{
		{Name: "node-3", Heartbeat: heard}, {Name: "node-3", Started: noon.Add(-10 * time.Second), Heartbeat: noon},
		{Name: "node-2", Heartbeat: heard.Add(-time.Second)},
	}, true)
	if !bar.To.Equal(heard.Add(time.Second)) || !bar.Broken {
		t.Errorf("the bar ends at %s, want a second after the last sign of life, %s", bar.To, heard)
	}
}

func TestTimeline_bounded(t *testing.T) {
	f := &fake{}
	st := jobs.Status{Info: jobs.Info{Job: jobs.Job{Name: "often", Spec: "* * * * * *"}, Nodes: []string{"n"}}}
	for i := range 5000 {
		at := noon.Add(-time.Duration(i) * 50 * time.Millisecond)
		f.runs = append(f.runs, jobs.Run{ID: fmt.Sprint("often@", i), Job: "often", Tick: at, Started: at, Ended: at.Add(time.Millisecond),
			Outcome: jobs.OutcomeOK, Node: fmt.Sprint("node-", i%40), Trigger: jobs.TriggerSchedule})
	}
	st.Last = &f.runs[0]
	f.statuses = []jobs.Status{st}
	h := f.serve(Config{})
	for _, page := range []string{"", "job?name=often", "runs"} {
		w := get(h, page)
		if w.Code != 200 || w.Body.Len() > 250_000 || strings.Count(w.Body.String(), `class="lane"`) > timelineLanes {
			t.Errorf("%q: %d bytes, %d lanes", page, w.Body.Len(), strings.Count(w.Body.String(), `class="lane"`))
		}
	}
}

func TestChartsOf_counts(t *testing.T) {
	q := &request{now: noon}
	var runs []jobs.Run
	for i := range 30 {
		at := noon.Add(-time.Duration(i) * time.Minute)
		r := jobs.Run{Tick: at.Add(-time.Second), Started: at, Ended: at, Outcome: jobs.OutcomeOK, Trigger: jobs.TriggerSchedule}
		if i == 7 {
			r.Outcome, r.Tick = jobs.OutcomeLost, at.Add(-time.Minute)
		}
		runs = append(runs, r)
	}
	runs = append(runs, jobs.Run{Tick: noon, Ended: noon, Outcome: jobs.OutcomeSkipped, Trigger: jobs.TriggerSchedule})
	charts := q.chartsOf(runs, noon.Add(-20*time.Minute))
	want := []string{"Throughput: 21 runs in the last 20 min", "Failures: 1 of 21 runs failed",
		"Lateness: begun 1 s after the tick in the median, 1 min at most"}
	for i, c := range charts {
		if c.Label != want[i] {
			t.Errorf("%s, want %s", c.Label, want[i])
		}
		for _, b := range c.Bars {
			if b.X < 0 || b.X+barWidth > c.Width || b.Y < 0 || b.Y+b.Height != chartHeight {
				t.Errorf("%s: outside: %+v", c.Name, b)
			}
		}
	}
	if len(charts) != 3 || len(charts[1].Bars) != 1 || q.chartsOf(nil, noon) != nil {
		t.Errorf("charts %+v", charts)
	}
}

// The page of a run leads to the other attempts of its tick.
func TestRun_attempts(t *testing.T) {
	h := killed().serve(operator)
	expect(t, get(h, "run?id=report@lost"), 200, "Attempts of this tick", "this one", `href="run?id=report%40again"`,
		"Run this tick again")
	expect(t, get(h, "run?id=report@again"), 200, `href="run?id=report%40lost"`)
	for _, id := range []string{"report@again", "report@6"} {
		if strings.Contains(get(h, "run?id="+id).Body.String(), "Run this tick again") {
			t.Errorf("%s went well and is offered again", id)
		}
	}
	if strings.Contains(get(h, "run?id=report@6").Body.String(), "Attempts of") {
		t.Error("one attempt is a list")
	}
}

// A page of 100,000 locks asks for what it shows, once for all tabs.
func TestLockList_costs(t *testing.T) {
	f := &fake{}
	for i := range 100_000 {
		f.locks = append(f.locks, lockrt.LockInfo{Key: fmt.Sprintf("order:%06d", i), Node: "node-1", Since: noon, Fence: 1838441379841760256})
	}
	h := f.serve(operator)
	began := time.Now()
	for range 10 {
		w := get(h, "locks?q=order")
		expect(t, w, 200, "order:000049", "50 on this page", `href="locks?from=50&amp;q=order" rel="next"`,
			`<span title="1838441379841760256">…760256</span>`)
		if rows := strings.Count(w.Body.String(), "<tr data-key"); rows != pageRows {
			t.Fatalf("%d rows", rows)
		}
	}
	most := 1 + int(time.Since(began)/freshFor)
	if n := f.count("locks"); n > most || f.count("holder") != 0 || f.count("status") != 0 {
		t.Errorf("asked %v, want locks %d times at the most", f.asked, most)
	}
	expect(t, get(h, "locks?q=order&from=99950"), 200, "order:099999", "This is the last page", "First page")
	expect(t, get(h, "locks?from=nonsense"), 404, "The list of locks has no such page")
}
