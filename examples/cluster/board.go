package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockgen/lockgen/examples/internal/witness"
	"github.com/lockgen/lockgen/jobs"
)

// boardRuns is how many runs the web page shows.
const boardRuns = 12

// runLine is what is shown of a run. The nodes of a redis cluster send it to
// the parent process as JSON.
type runLine struct {
	Job      string        `json:"job"`
	Tick     time.Time     `json:"tick"`
	Node     string        `json:"node"`
	Duration time.Duration `json:"duration"`
	Fence    uint64        `json:"fence"`
	Outcome  string        `json:"outcome"`
	Attempt  int           `json:"attempt"`
	Note     string        `json:"note,omitempty"` // why it was skipped or failed
}

func lineOf(r jobs.Run) runLine {
	line := runLine{
		Job: r.Job, Tick: r.Tick, Node: r.Node, Fence: uint64(r.Fence), Outcome: string(r.Outcome), Attempt: r.Attempt,
		Note: r.Reason,
	}
	if !r.Started.IsZero() && !r.Ended.IsZero() {
		line.Duration = r.Ended.Sub(r.Started)
	}
	if r.Error != "" {
		line.Note = r.Error
	}
	return line
}

// shortName is a job's name without the path of this package: whose jobs they are is clear here.
func shortName(job string) string {
	return strings.TrimPrefix(job, "github.com/lockgen/lockgen/examples/")
}

func (r runLine) String() string {
	text := fmt.Sprintf("%s  %-18s  %-8s  %6s  fence %d  %s", r.Tick.UTC().Format(time.TimeOnly), shortName(r.Job), r.Node,
		r.Duration.Round(time.Millisecond), r.Fence, r.Outcome)
	if r.Note != "" {
		text += ": " + r.Note
	}
	return text
}

// The states of a node.
const (
	stateStarting = "starting"
	stateRunning  = "running"
	stateKilled   = "killed"
	stateStopped  = "stopped"
	stateEnded    = "ended by itself"
)

// nodeState is what is shown of a node.
type nodeState struct {
	Name, State string
	Since       time.Time
	Process     int // 0: it is none of its own
}

// tick is one that nodes may have to run several times.
type tick struct {
	job string
	at  int64
}

// board is what the web page shows, and the only writer to standard output.
type board struct {
	mu     sync.Mutex // guards everything below
	out    io.Writer
	nodes  []nodeState
	jobs   []witness.Job
	runs   []runLine       // newest first
	lost   map[tick]string // on which node, until it is run again
	opened time.Time       // from when on ticks are counted
}

func (b *board) printf(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(b.out, format+"\n", args...)
}

// finished shows a run that has ended or was skipped. Of one that takes the place of a
// lost one it says so.
func (b *board) finished(r runLine) {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := tick{r.Job, r.Tick.UnixNano()}
	switch node, again := b.lost[of]; {
	case r.Outcome == string(jobs.OutcomeLost):
		if b.lost == nil {
			b.lost = map[tick]string{}
		}
		b.lost[of] = r.Node
	case again && r.Outcome == string(jobs.OutcomeOK):
		delete(b.lost, of)
		r.Note = "run again, since " + node + " lost it"
	}
	fmt.Fprintln(b.out, r)
	b.runs = slices.Insert(b.runs, 0, r)
	b.runs = b.runs[:min(len(b.runs), boardRuns)]
}

// node shows in which state a node is now.
func (b *board) node(name, state string) {
	b.show(nodeState{Name: name, State: state, Since: time.Now()})
}

// process shows that a node runs, as a process.
func (b *board) process(name string, pid int) {
	b.show(nodeState{Name: name, State: stateRunning, Since: time.Now(), Process: pid})
}

func (b *board) show(n nodeState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.nodes {
		if b.nodes[i].Name == n.Name {
			b.nodes[i] = n
			return
		}
	}
	b.nodes = append(b.nodes, n)
}

// names are the nodes that there are, dead or alive.
func (b *board) names() (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.nodes {
		names = append(names, n.Name)
	}
	return names
}

// setJobs shows the jobs.
func (b *board) setJobs(jobs []witness.Job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs = jobs
}

// countFrom shows the ticks that were due since then.
func (b *board) countFrom(opened time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = opened
}

// snapshot is what the page shows.
type snapshot struct {
	Nodes  []nodeState
	Jobs   []witness.Job
	Runs   []runLine
	opened time.Time
}

func (b *board) snapshot() snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	return snapshot{slices.Clone(b.nodes), slices.Clone(b.jobs), slices.Clone(b.runs), b.opened}
}
