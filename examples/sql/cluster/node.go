package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lockgen/lockgen/examples/internal/child"
	"github.com/lockgen/lockgen/examples/internal/witness"
	"github.com/lockgen/lockgen/jobs"
	jobredis "github.com/lockgen/lockgen/jobs/redisstore"
	"github.com/lockgen/lockgen/jobs/sqlstore"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// childRole, as the first argument of the command, makes it a node.
const childRole = "node"

// childSetup is what a node is told.
type childSetup struct {
	Store     string `json:"store"`
	Jobs      string `json:"jobs"` // empty: in the store
	Namespace string `json:"namespace"`
	Node      string `json:"node"`
	Notes     string `json:"notes"` // file of the witness
}

// receipts is the handler of the one-off jobs.
const receipts = "receipt"

// closeTimeout bounds what a node gives back at its end.
const closeTimeout = 5 * time.Second

// runChild is the command as a node. It tells its parent its jobs, then each run that has ended.
func runChild(ctx context.Context, setup childSetup, parent *child.Parent) (err error) {
	notes, err := witness.OpenFile(setup.Notes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, notes.Close()) }()
	recorder := &witness.Recorder{Log: notes, Node: setup.Node}
	m, err := newMember(ctx, setup, recorder, func(r jobs.Run) { parent.Note(r) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	parent.Ready(specsOf(m.scheduler))
	return m.scheduler.Run(ctx)
}

// member is a Locker and a Scheduler with all jobs.
type member struct {
	scheduler *jobs.Scheduler
	locks     *lockrt.Locker
	client    io.Closer // of the jobs; nil: they are in the store
}

// newMember joins the cluster.
func newMember(
	ctx context.Context, setup childSetup, notes *witness.Recorder, ended func(jobs.Run),
) (m *member, err error) {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})).With("node", setup.Node)
	m = new(member)
	m.locks, err = lockrt.Open(ctx, setup.Store, lockrt.Config{Namespace: setup.Namespace, Node: setup.Node, Logger: logger})
	if err != nil {
		return nil, err
	}
	cfg := jobs.Config{Logger: logger, DrainTimeout: 5 * time.Second, OnRun: ended}
	if setup.Jobs != "" {
		if cfg.Store, m.client, err = jobsBeside(setup); err != nil {
			return nil, errors.Join(err, m.close())
		}
	}
	if m.scheduler, err = jobs.New(m.locks, cfg); err == nil {
		err = addJobs(m.scheduler, notes)
	}
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

// close gives back what the member has.
func (m *member) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := m.locks.Close(ctx)
	if m.client != nil {
		err = errors.Join(err, m.client.Close())
	}
	return err
}

// jobsBeside is the store of jobs that are not where the locks are, and its client.
func jobsBeside(setup childSetup) (jobs.Store, io.Closer, error) {
	if isRedis(setup.Jobs) {
		client, err := dialRedis(setup.Jobs)
		if err != nil {
			return nil, nil, err
		}
		return jobredis.New(client, setup.Namespace), client, nil
	}
	db, err := connect(setup.Jobs, "-jobs")
	if err != nil {
		return nil, nil, err
	}
	return sqlstore.New(db, sqlstore.Config{Namespace: setup.Namespace}), db, nil
}

// addJobs adds the jobs of a shop. Each may be lost with its node and is then run again, waits for the run before it,
// and catches up on what was due while nobody ran: so every tick has a run.
func addJobs(s *jobs.Scheduler, notes *witness.Recorder) error {
	job := func(name, spec string, takes time.Duration) error {
		return s.Add(jobs.Job{
			Name: name, Spec: spec, Overlap: jobs.OverlapQueue, Misfire: jobs.MisfireAll, Retries: 5,
			Lock: lockrt.Options{TTL: 3 * time.Second},
			Run: func(ctx context.Context) error {
				name, tick, _ := jobs.TickFromContext(ctx)
				return notes.Watch(ctx, name, tick, uint64(lockrt.FromContext(ctx).Fence()), func(ctx context.Context) error {
					return work(ctx, takes)
				})
			},
		})
	}
	return errors.Join(
		job("carts/expire", "* * * * * *", 20*time.Millisecond),
		job("index/rebuild", "*/3 * * * * *", 1500*time.Millisecond),
		s.AddHandler(jobs.Handler{Name: receipts, Retries: 5, Run: func(ctx context.Context, id string, _ []byte) error {
			return work(ctx, 5*time.Millisecond)
		}}))
}

// work stands for work: it takes d, and stops when the lock is lost.
func work(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// specsOf are the jobs as the witness knows them.
func specsOf(s *jobs.Scheduler) (specs []witness.Job) {
	for _, info := range s.Jobs() {
		if !info.Handler {
			specs = append(specs, witness.Job{Name: info.Job.Name, Spec: info.Job.Spec})
		}
	}
	return specs
}
