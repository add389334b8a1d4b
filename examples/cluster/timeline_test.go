package main

import (
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/examples/internal/witness"
)

// A run of a node that was killed breaks off at its death, and a line leads to where its tick was run again.
func TestDrawTimeline_kill(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	start := func(run, node string, tick, began int) witness.Event {
		return witness.Event{Kind: witness.Start, Run: run, Job: "main.index", Tick: at(tick), Node: node, At: at(began)}
	}
	end := func(e witness.Event, ended int, err string) witness.Event {
		e.Kind, e.At, e.Err = witness.End, at(ended), err
		return e
	}
	first, lost, again, failed, last := start("1", "node-1", 3, 3), start("2", "node-2", 6, 6), start("3", "node-1", 6, 12),
		start("4", "node-1", 9, 14), start("5", "node-1", 12, 19)
	s := snapshot{Nodes: []nodeState{{Name: "node-1", State: stateRunning}, {Name: "node-2", State: stateKilled}},
		Jobs: []witness.Job{{Name: "main.index", Spec: "*/3 * * * * *"}}}
	drawing := string(drawTimeline(at(20), s, witness.Deaths{"node-2": {at(8)}}, []witness.Event{first, end(first, 4, ""), lost, again,
		end(again, 13, ""), failed, end(failed, 15, "disk full"), last}))
	for _, want := range []string{"node-2<tspan", "killed", `class="bar bad broken"`, "on node-2: died with its node, 2s",
		`class="join"`, `class="bar busy open"`, "failed: disk full", "index 12:00:06 due", "index 12:00:15 due, and not begun"} {
		if !strings.Contains(drawing, want) {
			t.Errorf("has no %s:\n%s", want, drawing)
		}
	}
	for what, n := range map[string]int{`class="join"`: 1, `class="break"`: 1, `<svg class="bar`: 5, `class="tick `: 6} {
		if got := strings.Count(drawing, what); got != n {
			t.Errorf("%d times %s, want %d:\n%s", got, what, n, drawing)
		}
	}
	if empty := drawTimeline(at(20), snapshot{}, nil, nil); strings.Contains(string(empty), "NaN") {
		t.Errorf("%s", empty)
	}
}
