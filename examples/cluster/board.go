package main

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/lockgen/lockgen/examples/cluster/internal/witness"
	"github.com/lockgen/lockgen/jobs"
)

// boardRuns is how many runs the web page shows.
const boardRuns = 30

// runLine is what is shown of a run. The nodes of a redis cluster send it to
// the parent process as JSON.
type runLine struct {
	Job      string        `json:"job"`
	Tick     time.Time     `json:"tick"`
	Node     string        `json:"node"`
	Duration time.Duration `json:"duration"`
	Fence    uint64        `json:"fence"`
	Outcome  string        `json:"outcome"`
	Note     string        `json:"note,omitempty"` // why it was skipped or failed
}

func lineOf(r jobs.Run) runLine {
	line := runLine{
		Job: r.Job, Tick: r.Tick, Node: r.Node, Fence: uint64(r.Fence), Outcome: string(r.Outcome), Note: r.Reason,
	}
	if !r.Started.IsZero() && !r.Ended.IsZero() {
		line.Duration = r.Ended.Sub(r.Started)
	}
	if r.Error != "" {
		line.Note = r.Error
	}
	return line
}

func (r runLine) String() string {
	text := fmt.Sprintf("%s  %-18s  %-8s  %6s  fence %d  %s", r.Tick.UTC().Format(time.TimeOnly), r.Job, r.Node,
		r.Duration.Round(time.Millisecond), r.Fence, r.Outcome)
	if r.Note != "" {
		text += ": " + r.Note
	}
	return text
}

// nodeState is what is shown of a node.
type nodeState struct{ Name, State string }

// board is what the web page shows, and the only writer to standard output.
type board struct {
	mu    sync.Mutex // guards everything below
	out   io.Writer
	nodes []nodeState
	jobs  []witness.Job
	runs  []runLine // newest first
}

func (b *board) printf(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(b.out, format+"\n", args...)
}

// finished shows a run that has ended or was skipped.
func (b *board) finished(r runLine) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintln(b.out, r)
	b.runs = slices.Insert(b.runs, 0, r)
	b.runs = b.runs[:min(len(b.runs), boardRuns)]
}

// node shows in which state a node is now.
func (b *board) node(name, state string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.nodes {
		if b.nodes[i].Name == name {
			b.nodes[i].State = state
			return
		}
	}
	b.nodes = append(b.nodes, nodeState{name, state})
}

// setJobs shows the jobs.
func (b *board) setJobs(jobs []witness.Job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs = jobs
}

// snapshot copies what the page shows.
func (b *board) snapshot() (nodes []nodeState, jobs []witness.Job, runs []runLine) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.nodes), slices.Clone(b.jobs), slices.Clone(b.runs)
}
