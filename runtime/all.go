package lockrt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Leases are the leases of [Locker.AcquireAll], in the order in which they were acquired: sorted by key.
type Leases []*Lease

// AcquireAll takes the locks on all keys in sorted order. So callers with the same keys in any order cannot deadlock: a
// caller that waits for a key holds none that sorts after it. Eight or more keys are first tried at the same time,
// unless Options.Wait is 0. A key that is named twice is locked once. Options.Wait is for all keys together. Without it no
// key is tried when answers of more than a second before it have taken 5 s. If one lock cannot be acquired, the locks
// before it are released, whatever Options.MinHold is, and the error is that of the failed one. If a lease is lost during
// the wait for others, the error wraps ErrLost.
func (l *Locker) AcquireAll(ctx context.Context, keys []string, o Options) (Leases, error) {
	each := make([]KeyOptions, len(keys))
	for i, key := range keys {
		each[i] = KeyOptions{Key: key, Mode: o.Mode, Permits: o.Permits}
	}
	return l.acquireEach(ctx, "AcquireAll", each, o)
}

// acquireEach is AcquireEach with keys that it may reorder.
func (l *Locker) acquireEach(ctx context.Context, method string, keys []KeyOptions, o Options) (Leases, error) {
	if err := l.usable(ctx); err != nil {
		return nil, fmt.Errorf("acquire %d locks: %w", len(keys), err)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: %s needs a key", ErrKey, method)
	}
	sorted, err := sortKeys(keys)
	if err != nil {
		return nil, fmt.Errorf("acquire %d locks: %w", len(keys), err)
	}
	ctx, caller := onBehalf(ctx)
	defer caller.goOn()
	leases, done, until := make(Leases, 0, len(sorted)), false, deadlineOf(o.Wait)
	defer func() {
		if !done {
			leases.giveUp(ctx, giveBackTime) // a panic goes on
		}
	}()
	err = l.acquireSorted(ctx, sorted, o, until, &leases)
	done = true
	switch {
	case caller != nil && caller.panicked.Load() != nil:
		leases.giveUp(ended, giveBackTime)
		return nil, err
	case err == nil:
		return leases, nil
	}
	if lost := leases.lost(); lost != nil && ctx.Err() == nil {
		// The context that ended is that of a lease of this set, and not the caller's.
		err = fmt.Errorf("acquire %d locks: %w", len(sorted), lost)
	}
	patience := giveBackTime
	if o.Wait > 0 && !until.IsZero() { // looking for the holder has taken its time, too
		patience = max(min(patience, left(until.Add(giveBackTime))), lateTime)
	}
	leases.giveUp(ctx, patience)
	return nil, err
}

// lastKeys is what the keys that are left when the wait is over get together: they may be free.
const lastKeys = 5 * time.Millisecond

func leftForKeys(until time.Time) time.Duration {
	if more := left(until); more > 0 {
		return more
	}
	return left(until.Add(lastKeys))
}

// acquireSorted adds the leases to held that were acquired before err.
func (l *Locker) acquireSorted(
	ctx context.Context, sorted []KeyOptions, o Options, until time.Time, held *Leases,
) error {
	wait, waits := o.Wait, o.Wait > 0
	if waits && len(sorted) >= atOnce && ctx.Err() == nil {
		if err := l.tryAtOnce(ctx, sorted, o, held); err != nil {
			return err
		}
		o.Wait = leftForKeys(until)
	}
	if len(*held) > 0 {
		ctx = held.Context()
	}
	slow := time.Duration(0)
	for _, key := range sorted[len(*held):] {
		if waits && o.Wait == 0 {
			return fmt.Errorf("acquire lock %s: %w", quote(key.Key), l.tooLate(key.Key, wait))
		}
		if slow > callTime {
			return fmt.Errorf("acquire lock %s: slow answers to the %d locks before it took %s", quote(key.Key), len(*held), shown(slow))
		}
		o.Mode, o.Permits = key.Mode, key.Permits
		began := time.Now()
		lease, err := l.Acquire(ctx, key.Key, o)
		if err != nil {
			return err
		}
		if took := time.Since(began); !waits && took > soon {
			slow += took
		}
		*held = append(*held, lease)
		ctx = lease.Context() // each context hangs on those before: the last ends when any lease is lost
		if waits {
			o.Wait = leftForKeys(until)
		}
	}
	return nil
}

// lost is the error of the first lease that has been lost, nil if none has.
func (ls Leases) lost() error {
	for _, lease := range ls {
		if err := lease.Err(); errors.Is(err, ErrLost) {
			return err
		}
	}
	return nil
}

// giveUp releases leases under which nothing ran: MinHold has nothing to keep apart, and a retry would wait for it. It waits
// for that for a moment, while ctx lives. What cannot be released is logged, as the caller has an error already.
func (ls Leases) giveUp(ctx context.Context, patience time.Duration) {
	for _, lease := range ls {
		lease.grant.keepNothing(lease)
	}
	if len(ls) == 0 {
		return
	}
	l := ls[0].grant.locker
	var back sync.WaitGroup
	entered := l.enter() == nil // so that Close waits for it
	back.Go(func() {
		if entered {
			defer l.leave()
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
		defer cancel()
		// That one of them was lost before is no news, and what the store says of its release is.
		if err := ls.each(func(lease *Lease) error { return lease.release(ctx) }); err != nil {
			l.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "unused locks not released yet, at worst left to their TTL",
				slog.Any("error", err))
		}
	})
	awaitAlive(ctx, patience, &back)
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

// Release releases all leases at the same time and joins their errors; see [Lease.Release]. So it takes 5 s in all, and
// not for each lease, if the store does not answer. With two or more leases a panic of the store is an error.
func (ls Leases) Release(ctx context.Context) error {
	ctx, caller := onBehalf(ctx)
	defer caller.goOn()
	if len(ls) == 1 {
		return ls[0].Release(ctx)
	}
	return ls.each(func(lease *Lease) error { return lease.Release(ctx) })
}

// conclude is [Lease.conclude] of all.
func (ls Leases) conclude(ctx context.Context) (failed, lost error) {
	if len(ls) == 1 {
		return ls[0].conclude(ctx)
	}
	failed = ls.each(func(lease *Lease) error { return lease.release(ctx) })
	var losses []error
	for _, lease := range ls {
		losses = append(losses, lease.lost())
	}
	return failed, errors.Join(losses...)
}

// each releases all at the same time.
func (ls Leases) each(release func(*Lease) error) error {
	errs := make([]error, len(ls))
	var all sync.WaitGroup
	for i, lease := range slices.Backward(ls) {
		all.Go(func() { guard("released a lock", func() error { return release(lease) }, &errs[i]) })
	}
	all.Wait()
	return errors.Join(errs...)
}
