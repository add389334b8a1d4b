package witness

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var (
	base    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tenJobs = []Job{{"a", "*/2 * * * * *"}}
	window  = Window{Open: at(0), Close: at(6.5)} // due: 2, 4, 6
)

func at(seconds float64) time.Time { return base.Add(time.Duration(seconds * float64(time.Second))) }

// forge makes the log of one run of job "a".
type forge struct {
	tick, start, end float64 // end 0: it never ended
	node             string
	fence            uint64
	err              string
}

func (f forge) events() []Event {
	id := fmt.Sprint(f)
	e := Event{Kind: Start, Run: id, Job: "a", Tick: at(f.tick), Node: f.node, Fence: f.fence, At: at(f.start)}
	events := []Event{e}
	if f.end != 0 {
		e.Kind, e.At, e.Err = End, at(f.end), f.err
		events = append(events, e)
	}
	return events
}

func TestJudge(t *testing.T) {
	good := []forge{{tick: 2, start: 2, end: 2.1, node: "n1", fence: 1},
		{tick: 4, start: 4, end: 4.1, node: "n2", fence: 2}}
	third := forge{tick: 6, start: 6, end: 6.1, node: "n1", fence: 9}
	with := func(more ...forge) []forge { return append(append([]forge(nil), good...), more...) }
	for name, test := range map[string]struct {
		runs    []forge
		deaths  Deaths
		want    string
		problem string // none: the verdict is OK
	}{
		"all well": {
			runs: with(third), want: "ticks=3 runs=3 duplicates=0 missed=0 lost=0",
		},
		"missed": {
			runs: good, want: "ticks=3 runs=2 duplicates=0 missed=1 lost=0", problem: "missed: a 12:00:06",
		},
		"nothing ran": {
			want: "ticks=3 runs=0 duplicates=0 missed=3 lost=0", problem: "missed: a 12:00:02",
		},
		"run twice, one after the other": {
			runs: with(third, forge{tick: 4, start: 7, end: 7.1, node: "n1", fence: 10}),
			want: "ticks=3 runs=4 duplicates=1 missed=0 lost=0", problem: "duplicate: a 12:00:04 on n1, after a 12:00:04 on n2",
		},
		"run twice at once": {
			runs:    with(third, forge{tick: 4, start: 4.05, end: 4.2, node: "n1", fence: 3}),
			want:    "ticks=3 runs=4 duplicates=1 missed=0 lost=0",
			problem: "overlap: a 12:00:04 on n1 started before the end of a 12:00:04 on n2",
		},
		"duplicate outside of the window": {
			runs: with(third, forge{tick: 8, start: 10, end: 10.1, node: "n1", fence: 10},
				forge{tick: 8, start: 11, end: 11.1, node: "n2", fence: 11}),
			want: "ticks=3 runs=3 duplicates=1 missed=0 lost=0", problem: "duplicate: a 12:00:08",
		},
		"run again after its node died in it": {
			runs: with(forge{tick: 6, start: 6, node: "n3", fence: 3},
				forge{tick: 6, start: 8, end: 8.1, node: "n1", fence: 4}),
			deaths: Deaths{"n3": {at(6.2)}},
			want:   "ticks=3 runs=4 duplicates=0 missed=0 lost=1",
		},
		"run again before its node died": {
			runs: with(forge{tick: 6, start: 6, node: "n3", fence: 3},
				forge{tick: 6, start: 6.1, end: 6.15, node: "n1", fence: 4}),
			deaths: Deaths{"n3": {at(6.2)}},
			want:   "ticks=3 runs=4 duplicates=1 missed=0 lost=1", problem: "duplicate: a 12:00:06 on n1",
		},
		"run again although it had ended long before its node died": {
			runs: with(forge{tick: 6, start: 6, end: 6.1, node: "n3", fence: 3},
				forge{tick: 6, start: 8, end: 8.1, node: "n1", fence: 4}),
			deaths: Deaths{"n3": {at(7)}},
			want:   "ticks=3 runs=4 duplicates=1 missed=0 lost=0", problem: "duplicate: a 12:00:06 on n1",
		},
		"run again although it was lost on another node than the dead one": {
			runs: with(forge{tick: 6, start: 6, node: "n3", fence: 3},
				forge{tick: 6, start: 8, end: 8.1, node: "n1", fence: 4}),
			deaths:  Deaths{"n2": {at(7)}},
			want:    "ticks=3 runs=4 duplicates=1 missed=0 lost=0",
			problem: "never ended although its node lives: a 12:00:06 on n3",
		},
		"lost by a node that was started again": {
			runs: with(forge{tick: 6, start: 6, node: "n3", fence: 3},
				forge{tick: 6, start: 8, end: 8.1, node: "n3", fence: 4}),
			deaths: Deaths{"n3": {at(1), at(6.2)}},
			want:   "ticks=3 runs=4 duplicates=0 missed=0 lost=1",
		},
		"run again although its node lives, after an earlier death": {
			runs: with(forge{tick: 6, start: 6, node: "n3", fence: 3},
				forge{tick: 6, start: 8, end: 8.1, node: "n1", fence: 4}),
			deaths:  Deaths{"n3": {at(1), at(2)}},
			want:    "ticks=3 runs=4 duplicates=1 missed=0 lost=0",
			problem: "never ended although its node lives: a 12:00:06 on n3",
		},
		"retried after a failure": {
			runs: with(forge{tick: 6, start: 6, end: 6.1, node: "n3", fence: 3, err: "disk full"},
				forge{tick: 6, start: 7, end: 7.1, node: "n3", fence: 4}),
			want: "ticks=3 runs=4 duplicates=0 missed=0 lost=0",
		},
		"retried before the failure": {
			runs: with(forge{tick: 6, start: 6, end: 6.1, node: "n3", fence: 3, err: "disk full"},
				forge{tick: 6, start: 6.05, end: 7.1, node: "n3", fence: 4}),
			want: "ticks=3 runs=4 duplicates=1 missed=0 lost=0", problem: "duplicate",
		},
		"fence falls": {
			runs: with(forge{tick: 6, start: 6, end: 6.1, node: "n1", fence: 2}),
			want: "ticks=3 runs=3 duplicates=0 missed=0 lost=0", problem: "fence went from 2 to 2",
		},
		"a tick that the spec does not have": {
			runs: with(third, forge{tick: 3, start: 6.3, end: 6.4, node: "n1", fence: 10}),
			want: "ticks=3 runs=3 duplicates=0 missed=0 lost=0", problem: "has no such tick: a 12:00:03",
		},
		"ticks at the edges of the window": {
			runs: with(third, forge{tick: 0, start: 0, end: 0.1, node: "n1", fence: 0},
				forge{tick: 8, start: 8, end: 8.1, node: "n1", fence: 10}),
			want: "ticks=3 runs=3 duplicates=0 missed=0 lost=0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var events []Event
			for _, f := range test.runs {
				events = append(events, f.events()...)
			}
			v, err := Judge(tenJobs, window, test.deaths, events)
			if err != nil {
				t.Fatal(err)
			}
			if v.String() != test.want {
				t.Errorf("got  %s\nwant %s", v, test.want)
			}
			if all := strings.Join(v.Problems, "\n"); v.OK() != (test.problem == "") || !strings.Contains(all, test.problem) {
				t.Errorf("problems:\n%s\nwant %q", all, test.problem)
			}
		})
	}
}

func TestJudge_Open_countsWhatIsStillToRun(t *testing.T) {
	lost := forge{tick: 4, start: 4, node: "n2", fence: 2}
	v, err := Judge(tenJobs, window, Deaths{"n2": {at(5)}}, lost.events())
	if err != nil || v.Open != 3 {
		t.Errorf("Open = %d, %v, want 3: one lost and two never started", v.Open, err)
	}
}

func TestJudge_unknownJobAndUnknownSpec(t *testing.T) {
	stray := forge{tick: 2, start: 2, end: 3, node: "n1"}
	v, err := Judge(nil, window, nil, stray.events())
	if err != nil || v.OK() {
		t.Errorf("a run of an unknown job passes: %v, %v", v.Problems, err)
	}
	for _, spec := range []string{"*/7 * * * * *", "*/0 * * * * *", "*/x * * * * *", "0 3 * * *", "@every 1s", "*", ""} {
		if _, err := Judge([]Job{{"a", spec}}, window, nil, nil); err == nil {
			t.Errorf("spec %q passes", spec)
		}
	}
}
