package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// A node that died and was started again under its name is one node, and not one too few.
func TestOverview_nodeStartedAgain(t *testing.T) {
	node := func(name, session string, started, heartbeat time.Duration) jobs.Node {
		return jobs.Node{Name: name, Session: session, Started: noon.Add(-started), Heartbeat: noon.Add(-heartbeat)}
	}
	f := &fake{nodes: []jobs.Node{
		node("a", "1", time.Hour, time.Minute), node("a", "2", 50*time.Second, time.Second), // again
		node("b", "3", time.Hour, time.Minute),                                         // dead
		node("c", "4", time.Hour, time.Minute), node("c", "5", time.Hour, time.Second), // two of one name: one is dead
	}}
	body := get(f.serve(Config{}), "").Body.String()
	if !strings.Contains(body, "2<i>/4</i>") {
		t.Errorf("does not say that 2 of 4 nodes live:\n%s", body)
	}
	for name, rows := range map[string]int{"a": 1, "b": 1, "c": 2} {
		if n := strings.Count(body, `<span class="name">`+name+`</span>`); n != rows {
			t.Errorf("%d rows of node %s, want %d", n, name, rows)
		}
	}
}

func TestOverview_silent(t *testing.T) {
	f := &fake{nodes: []jobs.Node{{Name: "a", Heartbeat: noon.Add(-silentAfter)}}}
	expect(t, get(f.serve(Config{}), ""), 200, "alive", "1<i>/1</i>")
	f.nodes[0].Heartbeat = noon.Add(-silentAfter - time.Millisecond)
	expect(t, get(f.serve(Config{}), ""), 200, "silent", "0<i>/1</i>")
}

// What is coming up is what will run: a paused job's next tick will not.
func TestOverview_comingUp(t *testing.T) {
	f := &fake{}
	for name, paused := range map[string]*jobs.Pause{"awake": nil, "asleep": {Author: "ada", At: noon}} {
		f.statuses = append(f.statuses, jobs.Status{
			Info: jobs.Info{Job: jobs.Job{Name: name, Spec: "@hourly"}, Zone: time.UTC}, Next: noon.Add(time.Hour),
			Paused: paused,
		})
	}
	body := get(f.serve(Config{}), "").Body.String()
	if !strings.Contains(body, "awake") || strings.Contains(body, "asleep") {
		t.Errorf("shows the next tick of a paused job, or none at all:\n%s", body)
	}
}
