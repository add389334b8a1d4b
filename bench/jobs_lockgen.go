package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
	_ "github.com/lockgen/lockgen/jobs/redisstore"
	_ "github.com/lockgen/lockgen/jobs/sqlstore"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

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
	return newLockgenNode(locks, o, notes, client.Close)
}

// openSQLLockgenNode keeps jobs and locks in a database.
func openSQLLockgenNode(ctx context.Context, at address, o jobsOrders, notes *jobNotes) (jobNode, error) {
	locks, err := lockrt.Open(ctx, at.addr, lockrt.Config{Node: fmt.Sprint("n", o.Node), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	return newLockgenNode(locks, o, notes, func() error { return nil })
}

func newLockgenNode(locks *lockrt.Locker, o jobsOrders, notes *jobNotes, closeStore func() error) (jobNode, error) {
	quiet := slog.New(slog.DiscardHandler)
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
			return sleep(ctx, o.takes(i))
		}})
		if err != nil {
			return nil, err
		}
	}
	return &lockgenNode{scheduler: s, close: func(ctx context.Context) error {
		if err := locks.Close(ctx); err != nil {
			return err
		}
		return closeStore()
	}}, nil
}

func (n *lockgenNode) run(ctx context.Context) error {
	if err := n.scheduler.Run(ctx); err != nil {
		return err
	}
	return n.close(context.WithoutCancel(ctx))
}

// settle waits until the store has told of every job.
func (n *lockgenNode) settle(ctx context.Context) error {
	for {
		all := n.scheduler.Jobs()
		if !slices.ContainsFunc(all, func(i jobs.Info) bool { return i.Cursor.IsZero() }) {
			return nil
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}
