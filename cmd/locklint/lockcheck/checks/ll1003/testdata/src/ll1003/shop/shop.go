package shop

import (
	"context"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

type Shop struct{ locks *lockrt.Locker }

//lock:key=order:{id},ttl=30s
func (s *Shop) placeLocked(ctx context.Context, id int64) error { return nil }

// Refund is exported: other packages can call it past its wrapper.
//
//lock:key=order:{id},ttl=30s
func (s *Shop) Refund(ctx context.Context, id int64) error { return nil }

//lock:key=rebuild,ttl=1m,func=Rebuild
func rebuildIndex(ctx context.Context) (int, error) { return 0, nil }

// The wrapper takes its lock elsewhere and has another signature.
//
//lock:key=ingest:{name},ttl=1m
func ingestLocked(ctx context.Context, name string, fence lockrt.Fence) error { return nil }

func (s *Shop) direct(ctx context.Context) error {
	if err := s.placeLocked(ctx, 1); err != nil { // want `LL1003: placeLocked relies on its lock, which only its wrapper place takes: call place`
		return err
	}
	if _, err := rebuildIndex(ctx); err != nil { // want `LL1003: rebuildIndex relies on its lock, which only its wrapper Rebuild takes`
		return err
	}
	return ingestLocked(ctx, "x", 1) // want `LL1003: ingestLocked relies on its lock, which only its wrapper ingest takes`
}

var first = func() error {
	_, err := rebuildIndex(context.Background()) // want `LL1003: rebuildIndex relies on its lock`
	return err
}()

// Fine.

func (s *Shop) wrapped(ctx context.Context) error {
	if _, err := Rebuild(ctx); err != nil {
		return err
	}
	return s.place(ctx, 1)
}

// In Go the suffix says that the caller holds the lock.
func (s *Shop) bothLocked(ctx context.Context) error { return s.placeLocked(ctx, 2) }

// It holds a lock of its own, perhaps the same.
//
//lock:key=all,ttl=1m
func (s *Shop) allOrders(ctx context.Context) error { return s.placeLocked(ctx, 3) }

// Mentioned, not called: who calls it is another matter.
func (s *Shop) mentioned() func(context.Context, int64) error { return s.placeLocked }

func (s *Shop) silenced(ctx context.Context) error {
	//locklint:ignore LL1003 the migration runs alone
	return s.placeLocked(ctx, 4)
}

// Callers that may hold the lock, by hand.

func (s *Shop) byHand(ctx context.Context) error {
	return s.locks.Do(ctx, "order:5", lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		return s.placeLocked(ctx, 5)
	})
}

func (s *Shop) acquired(ctx context.Context) error {
	lease, err := s.locks.Acquire(ctx, "order:6", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	return s.placeLocked(ctx, 6)
}

func (s *Shop) fenced(ctx context.Context, fence lockrt.Fence) error { return s.placeLocked(ctx, 7) }

func (s *Shop) schedule(jobber *jobs.Scheduler) error {
	return jobber.Add(jobs.Job{Name: "place", Keys: []string{"order:8"}, Run: func(ctx context.Context) error {
		return s.placeLocked(ctx, 8)
	}})
}
