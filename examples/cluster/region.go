package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockgen/lockgen/examples/internal/witness"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// region settles the payments of one region. Its code is part of the lock's
// key, so that regions do not wait for each other.
type region struct {
	code  string
	notes *witness.Recorder

	mu      sync.Mutex // guards settled
	settled lockrt.Fence
}

// settleLocked gets the fence of its lock and sends it along with the write, so
// that a holder that was paused beyond its lease cannot overwrite newer work.
//
//lock:key=settle:{r.code},ttl=3s
//lock:cron="*/2 * * * * *",overlap=queue,misfire=all,retries=5
func (r *region) settleLocked(ctx context.Context, fence lockrt.Fence) error {
	return watched(ctx, r.notes, func(ctx context.Context) error {
		if err := work(ctx, 40*time.Millisecond); err != nil {
			return err
		}
		return r.write(fence)
	})
}

// write refuses a fence lower than the highest it has seen.
func (r *region) write(fence lockrt.Fence) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if fence < r.settled {
		return fmt.Errorf("settle %s: fence %d is stale, %d has written", r.code, fence, r.settled)
	}
	r.settled = fence
	return nil
}
