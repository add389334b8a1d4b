package main

import (
	"context"
	"time"

	"github.com/lockgen/lockgen/examples/internal/witness"
	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

//go:generate go run github.com/lockgen/lockgen/cmd/lockgen

// The jobs of a shop. Each may be lost with its node and is then run again
// (retries), waits for the run before it instead of being skipped
// (overlap=queue), and catches up on what was due while nobody ran (misfire=all):
// so that every tick has a run, and the witness may call a missing one missed.

// expireCartsLocked runs every second.
//
//lock:key=carts:expire,ttl=3s
//lock:cron="* * * * * *",overlap=queue,misfire=all,retries=5
func expireCartsLocked(ctx context.Context, notes *witness.Recorder) error {
	return watched(ctx, notes, func(ctx context.Context) error { return work(ctx, 20*time.Millisecond) })
}

// rebuildIndexLocked takes much longer than the others, so that there is
// something to interrupt.
//
//lock:key=index:rebuild,ttl=3s
//lock:cron="*/3 * * * * *",overlap=queue,misfire=all,retries=5
func rebuildIndexLocked(ctx context.Context, notes *witness.Recorder) error {
	return watched(ctx, notes, func(ctx context.Context) error { return work(ctx, 1500*time.Millisecond) })
}

// watched lets the witness see the run that ctx belongs to.
func watched(ctx context.Context, notes *witness.Recorder, body func(context.Context) error) error {
	job, tick, _ := jobs.TickFromContext(ctx)
	return notes.Watch(ctx, job, tick, uint64(lockrt.FromContext(ctx).Fence()), body)
}

// work stands for work: it takes d, and stops when the lock is lost.
func work(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
