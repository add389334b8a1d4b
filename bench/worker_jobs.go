package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// jobsWorker is a process that is one node of a scheduler.
const jobsWorker = "jobs"

// jobsOrders is what such a process is told.
type jobsOrders struct {
	Contender string          `json:"contender"`
	Addr      string          `json:"addr"`
	Node      int             `json:"node"`
	Jobs      int             `json:"jobs"`
	Every     time.Duration   `json:"every"` // all jobs are due at its multiples; below a second: never
	Takes     []time.Duration `json:"takes"` // how long a run takes, of one job after the other, in turn; none: no time
	Skew      time.Duration   `json:"skew"`  // how far the node's clock is ahead
}

// jobsFound is what it reports.
type jobsFound struct {
	Runs     []jobRun      `json:"runs"`     // between go and stop
	Commands int64         `json:"commands"` // sent between go and stop
	CPU      time.Duration `json:"cpu"`
	Elapsed  time.Duration `json:"elapsed"`
	Settled  time.Duration `json:"settled"` // from the start to when all jobs were known
	Heap     uint64        `json:"heap"`    // in use after a collection, above that without jobs
}

// jobRun is the begin of one run, by the machine's clock.
type jobRun struct {
	Job   int   `json:"j"`
	Tick  int64 `json:"t"` // µs
	Begin int64 `json:"b"` // µs
}

// takes is how long a run of a job takes.
func (o jobsOrders) takes(job int) time.Duration {
	if len(o.Takes) == 0 {
		return 0
	}
	return o.Takes[job%len(o.Takes)]
}

// work is a run of a job of a contender that does not say for which tick: the one that is nearest by the node's clock.
func (o jobsOrders) work(ctx context.Context, job int, notes *jobNotes) error {
	begin := time.Now()
	notes.add(job, begin.Add(o.Skew).Round(o.Every), begin)
	return sleep(ctx, o.takes(job))
}

// spec is when all jobs are due, for contenders that read seconds in front. Every is a number of seconds below a minute.
func (o jobsOrders) spec() string { return fmt.Sprintf("*/%d * * * * *", o.Every/time.Second) }

// jobNode is one node of a contender: run blocks until ctx ends, settle until the node knows its jobs.
type jobNode interface {
	run(ctx context.Context) error
	settle(ctx context.Context) error
}

// settled is for nodes that need no time for that.
type settled struct{}

func (settled) settle(context.Context) error { return nil }

// jobNotes collects the runs of a process.
type jobNotes struct {
	mu   sync.Mutex
	runs []jobRun
}

func (n *jobNotes) add(job int, tick, begin time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.runs = append(n.runs, jobRun{Job: job, Tick: tick.UnixMicro(), Begin: begin.UnixMicro()})
}

// take returns what was collected and begins anew.
func (n *jobNotes) take() []jobRun {
	n.mu.Lock()
	defer n.mu.Unlock()
	runs := n.runs
	n.runs = nil
	return runs
}

func runJobs(ctx context.Context, text []byte, at *signals) (any, error) {
	var o jobsOrders
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, err
	}
	c, err := jobContender(o.Contender)
	if err != nil {
		return nil, err
	}
	sent := new(wireCount)
	notes := new(jobNotes)
	before := heapInUse()
	node, err := c.open(ctx, address{addr: o.Addr, sent: sent}, o, notes)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	begun := time.Now()
	go func() { ended <- node.run(ctx) }()
	if err := node.settle(ctx); err != nil {
		return nil, err
	}
	settled := time.Since(begun)
	if err := at.ready(); err != nil {
		return nil, err
	}
	found := &jobsFound{Heap: heapInUse() - before, Settled: settled}
	notes.take()
	begun = time.Now()
	cpu, commands := cpuUsed(), sent.commands.Load()
	window, parentGone := at.untilStop(ctx)
	<-window.Done()
	found.CPU, found.Elapsed, found.Commands = cpuUsed()-cpu, time.Since(begun), sent.commands.Load()-commands
	if err := parentGone(); err != nil {
		return nil, err
	}
	found.Runs = notes.take()
	stop()
	return found, <-ended
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
