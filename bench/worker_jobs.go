package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// jobsWorker is a process that is one node of a scheduler.
const jobsWorker = "jobs"

// jobsOrders is what such a process is told.
type jobsOrders struct {
	Contender string        `json:"contender"`
	Addr      string        `json:"addr"`
	Node      int           `json:"node"`
	Jobs      int           `json:"jobs"`
	Every     time.Duration `json:"every"` // all jobs are due at its multiples; below a second: never
	Takes     time.Duration `json:"takes"` // how long a run takes
	Skew      time.Duration `json:"skew"`  // how far the node's clock is ahead
}

// jobsFound is what it reports.
type jobsFound struct {
	Runs     []jobRun      `json:"runs"`     // between go and stop
	Commands int64         `json:"commands"` // sent between go and stop
	CPU      time.Duration `json:"cpu"`
	Elapsed  time.Duration `json:"elapsed"`
	Heap     uint64        `json:"heap"` // in use after a collection, above that without jobs
}

// jobRun is the begin of one run, by the machine's clock.
type jobRun struct {
	Job   int   `json:"j"`
	Tick  int64 `json:"t"` // µs
	Begin int64 `json:"b"` // µs
}

// jobNode is one node of a contender: run blocks until ctx ends.
type jobNode interface {
	run(ctx context.Context) error
}

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
	go func() { ended <- node.run(ctx) }()
	if err := at.ready(); err != nil {
		return nil, err
	}
	found := &jobsFound{Heap: heapInUse() - before}
	notes.take()
	cpu, begun, commands := cpuUsed(), time.Now(), sent.commands.Load()
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

// lockgenNode is a node of this library.
type lockgenNode struct {
	scheduler *jobs.Scheduler
	close     func(context.Context) error
}

func openLockgenNode(_ context.Context, at address, o jobsOrders, notes *jobNotes) (jobNode, error) {
	client := at.goRedis()
	quiet := slog.New(slog.DiscardHandler)
	locks, err := lockrt.New(redisstore.New(client, redisstore.Config{}), lockrt.Config{Node: fmt.Sprint("n", o.Node), Logger: quiet})
	if err != nil {
		return nil, err
	}
	now := func() time.Time { return time.Now().Add(o.Skew) }
	s, err := jobs.New(locks, jobs.Config{Logger: quiet, Now: now, History: 10})
	if err != nil {
		return nil, err
	}
	spec := "0 0 1 1 *"
	if o.Every >= time.Second {
		spec = "@every " + o.Every.String()
	}
	for i := range o.Jobs {
		err := s.Add(jobs.Job{Name: fmt.Sprint("job-", i), Spec: spec, Run: func(ctx context.Context) error {
			begin := time.Now()
			_, tick, _ := jobs.TickFromContext(ctx)
			notes.add(i, tick, begin)
			return sleep(ctx, o.Takes)
		}})
		if err != nil {
			return nil, err
		}
	}
	return &lockgenNode{scheduler: s, close: func(ctx context.Context) error {
		if err := locks.Close(ctx); err != nil {
			return err
		}
		return client.Close()
	}}, nil
}

func (n *lockgenNode) run(ctx context.Context) error {
	if err := n.scheduler.Run(ctx); err != nil {
		return err
	}
	return n.close(context.WithoutCancel(ctx))
}
