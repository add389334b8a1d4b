package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lockgen/lockgen/examples/internal/witness"
	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	drainTimeout = 5 * time.Second
	closeTimeout = 5 * time.Second
)

// node is one member of the cluster: a Locker and a Scheduler with all jobs.
type node struct {
	locks     *lockrt.Locker
	scheduler *jobs.Scheduler
}

// newNode takes over locks, also if it fails. Without a store of jobs it uses the
// one beside the locks.
func newNode(
	locks *lockrt.Locker, store jobs.Store, notes *witness.Recorder, logger *slog.Logger, finished func(runLine),
) (*node, error) {
	scheduler, err := jobs.New(locks, jobs.Config{
		Store:        store,
		Logger:       logger,
		DrainTimeout: drainTimeout,
		OnRun:        func(r jobs.Run) { finished(lineOf(r)) },
	})
	n := &node{locks, scheduler}
	if err == nil {
		err = n.register(notes)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up %s: %w", locks.Node(), err), n.close())
	}
	return n, nil
}

// newOnlooker is a node that is never run. It takes over locks, also if it fails.
func newOnlooker(locks *lockrt.Locker, store jobs.Store, logger *slog.Logger) (*node, error) {
	return newNode(locks, store, &witness.Recorder{Log: &witness.Memory{}, Node: onlookerName}, logger, func(runLine) {})
}

// register adds the jobs through the functions that lockgen wrote.
func (n *node) register(notes *witness.Recorder) error {
	eu := &region{code: "eu", notes: notes}
	return errors.Join(RegisterJobs(n.scheduler, notes), eu.RegisterJobs(n.scheduler))
}

// specs are the jobs as the witness knows them.
func (n *node) specs() []witness.Job {
	var specs []witness.Job
	for _, job := range n.scheduler.Jobs() {
		specs = append(specs, witness.Job{Name: job.Job.Name, Spec: job.Job.Spec})
	}
	return specs
}

// run blocks until ctx has ended and the jobs that were running are done.
func (n *node) run(ctx context.Context) error {
	return errors.Join(n.scheduler.Run(ctx), n.close())
}

func (n *node) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return n.locks.Close(ctx)
}
