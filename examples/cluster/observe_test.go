package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/examples/internal/witness"
	"github.com/lockgen/lockgen/jobs"
)

// forgedCluster is a cluster whose notes the test writes. Its clock stands at
// noon when the window opens and four and a half seconds later when it closes.
type forgedCluster struct {
	obituary
	asked   int // for the time
	notes   []witness.Event
	stopped bool
	failed  chan error
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (c *forgedCluster) specs() []witness.Job { return []witness.Job{{Name: "a", Spec: "* * * * * *"}} }

func (c *forgedCluster) now(context.Context) (time.Time, error) {
	c.asked++
	if c.asked == 1 {
		return noon, nil
	}
	return noon.Add(4500 * time.Millisecond), nil
}

func (c *forgedCluster) events() ([]witness.Event, error) { return c.notes, nil }
func (c *forgedCluster) living() []string                 { return []string{"node-1", "node-2"} }
func (c *forgedCluster) kill(string) error                { return errors.New("not here") }
func (c *forgedCluster) start(string) error               { return errors.New("not here") }
func (c *forgedCluster) failures() <-chan error           { return c.failed }
func (c *forgedCluster) close() error                     { return nil }
func (c *forgedCluster) onlooker() *jobs.Scheduler        { return nil }

func (c *forgedCluster) stop(context.Context) error {
	c.stopped = true
	return nil
}

// ran notes a run of the tick at noon + second.
func (c *forgedCluster) ran(second int) {
	n := len(c.notes)
	tick := noon.Add(time.Duration(second) * time.Second)
	e := witness.Event{
		Kind: witness.Start, Run: strconv.Itoa(n), Job: "a", Tick: tick, Node: "node-1",
		Fence: uint64(n + 1), At: tick.Add(time.Duration(n) * time.Millisecond),
	}
	c.notes = append(c.notes, e)
	e.Kind = witness.End
	c.notes = append(c.notes, e)
}

// observed runs the observer over a forged cluster. signals are sent before it
// begins: after two of them it waits for nothing.
func observed(t *testing.T, c *forgedCluster, signals int) (ok bool, err error, out string) {
	t.Helper()
	interrupts := make(chan os.Signal, signals)
	for range signals {
		interrupts <- os.Interrupt
	}
	s := newStopper(interrupts)
	defer s.close()
	if signals == 2 {
		<-s.waiting.Done()
	}
	var text strings.Builder
	b := &board{out: &text}
	o := &observer{
		options: options{runs: time.Nanosecond}, cluster: c, control: &control{cluster: c, board: b}, board: b, stop: s,
	}
	ok, err = o.observe()
	if !c.stopped {
		t.Error("the nodes were not stopped")
	}
	return ok, err, text.String()
}

func TestObserver_summaryIsTheLastLine(t *testing.T) {
	c := &forgedCluster{}
	for _, second := range []int{1, 2, 3, 4} {
		c.ran(second)
	}
	// The first tick opens the window.
	ok, err, out := observed(t, c, 0)
	if want := "ticks=3 runs=3 duplicates=0 missed=0 lost=0\n"; !ok || err != nil || out != want {
		t.Errorf("ok = %v, %v, got:\n%s\nwant %s", ok, err, out, want)
	}
}

func TestObserver_duplicateIsNotOK(t *testing.T) {
	c := &forgedCluster{}
	for _, second := range []int{1, 2, 3, 3, 4} {
		c.ran(second)
	}
	ok, err, out := observed(t, c, 0)
	if ok || err != nil || !strings.Contains(out, "witness: duplicate: a 12:00:03") ||
		!strings.HasSuffix(out, "\nticks=3 runs=4 duplicates=1 missed=0 lost=0\n") {
		t.Errorf("ok = %v, %v:\n%s", ok, err, out)
	}
}

func TestObserver_missedIsNotOK(t *testing.T) {
	c := &forgedCluster{}
	for _, second := range []int{1, 2, 4} {
		c.ran(second)
	}
	ok, err, out := observed(t, c, 2)
	if ok || err != nil || !strings.HasSuffix(out,
		"witness: missed: a 12:00:03\nticks=3 runs=2 duplicates=0 missed=1 lost=0\n") {
		t.Errorf("ok = %v, %v:\n%s", ok, err, out)
	}
}

func TestObserver_nothingRanIsNotOK(t *testing.T) {
	ok, _, out := observed(t, &forgedCluster{}, 2)
	if ok || !strings.HasSuffix(out, "\nticks=4 runs=0 duplicates=0 missed=4 lost=0\n") {
		t.Errorf("ok = %v:\n%s", ok, out)
	}
}

func TestObserver_failedNodeIsReportedWithTheSummary(t *testing.T) {
	broken := errors.New("node-2 ended by itself")
	c := &forgedCluster{failed: make(chan error, 1)}
	c.failed <- broken
	_, err, out := observed(t, c, 0)
	if !errors.Is(err, broken) || !strings.Contains(out, "ticks=") {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestBusyNode(t *testing.T) {
	event := func(kind witness.Kind, run, node string, second int) witness.Event {
		return witness.Event{Kind: kind, Run: run, Node: node, At: noon.Add(time.Duration(second) * time.Second)}
	}
	events := []witness.Event{
		event(witness.Start, "0", "node-4", 0), // dead already: no candidate
		event(witness.Start, "1", "node-1", 1), event(witness.End, "1", "node-1", 9),
		event(witness.Start, "3", "node-3", 3), event(witness.Start, "2", "node-2", 2),
	}
	alive := []string{"node-1", "node-2", "node-3"}
	if got := busyNode(alive, events); got != "node-2" {
		t.Errorf("busyNode = %s, want node-2 with the oldest unfinished run", got)
	}
	if got := busyNode(alive, nil); got != "node-1" {
		t.Errorf("busyNode without runs = %s", got)
	}
}
