package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Leases are the leases of [Locker.AcquireAll], in the order in which they were acquired: sorted by key.
type Leases []*Lease

// AcquireAll takes the locks on all keys, one after another in sorted order, so that callers with the same keys in any
// order cannot deadlock. A key that is named twice is locked once. Options.Wait is for all of them together. If one
// cannot be had, those before it are released, whatever Options.MinHold says, and the error is that one's.
func (l *Locker) AcquireAll(ctx context.Context, keys []string, o Options) (Leases, error) {
	if err := l.usable(ctx); err != nil {
		return nil, fmt.Errorf("acquire %d locks: %w", len(keys), err)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: AcquireAll needs a key", ErrKey)
	}
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)

	began, wait := time.Now(), o.Wait
	leases := make(Leases, 0, len(sorted))
	for _, key := range sorted {
		if wait > 0 && wait != Forever {
			o.Wait = max(wait-time.Since(began), 0)
		}
		lease, err := l.Acquire(ctx, key, o)
		if err != nil {
			// Nothing ran under the others: MinHold has nothing to keep apart, and a retry would wait for it.
			for _, unused := range leases {
				unused.grant.keepNothing(unused)
			}
			// ErrLost here is of a lease that nobody has used yet.
			if rerr := leases.Release(ctx); rerr != nil && !errors.Is(rerr, ErrLost) {
				err = errors.Join(err, rerr)
			}
			return nil, err
		}
		leases = append(leases, lease)
		ctx = lease.Context() // each context hangs on those before: the last ends when any lease is lost
	}
	return leases, nil
}

// Lease returns the lease on key, nil if there is none.
func (ls Leases) Lease(key string) *Lease {
	for _, lease := range ls {
		if lease.Key() == key {
			return lease
		}
	}
	return nil
}

// Context returns the context for the work under all the locks. It is cancelled when any lease is lost.
func (ls Leases) Context() context.Context {
	if len(ls) == 0 {
		return context.Background()
	}
	return ls[len(ls)-1].Context()
}

// Release releases all leases at the same time, so that a store which does not answer costs 5 s once, and joins their
// errors; see [Lease.Release].
func (ls Leases) Release(ctx context.Context) error {
	errs := make([]error, len(ls))
	var others sync.WaitGroup
	for i, lease := range slices.Backward(ls) {
		if i > 0 {
			others.Go(func() { errs[i] = lease.Release(ctx) })
		} else {
			errs[i] = lease.Release(ctx)
		}
	}
	others.Wait()
	return errors.Join(errs...)
}
