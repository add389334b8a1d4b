package lockrt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// atOnceTime is for how long a store that cannot be asked is asked for many keys before it is not asked for each.
	atOnceTime = time.Second
	// atOnce is how many keys make it worthwhile to ask for them at the same time, and atOnceMax how many are under
	// way.
	atOnce    = 8
	atOnceMax = 256
)

// tryAtOnce asks for many keys at the same time, so that a set which is free costs a few round trips and not one for
// each key. It adds to held the leases of the keys before the first that is not free, and gives back what it got behind
// that: who waits for a key holds none that comes after it, so nobody waits in a circle. The error is of a store that
// could not be asked for a second: of others the caller hears when it asks for that key again.
func (l *Locker) tryAtOnce(ctx context.Context, sorted []KeyOptions, o Options, held *Leases) error {
	for _, key := range sorted {
		o.Mode, o.Permits = key.Mode, key.Permits
		if o.validate() != nil || l.supports(o.kind()) != nil || l.heldIn(ctx, key.Key) != nil {
			return nil // shared, or an error: one after another
		}
	}
	if l.enter() != nil {
		return nil
	}
	defer l.leave()
	limit, began := min(o.Wait, callTime), time.Now()
	asking, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	o.Wait = 0
	grants, errs := make([]*grant, len(sorted)), make([]error, len(sorted))
	slots := make(chan struct{}, atOnceMax)
	var all sync.WaitGroup
	for i, key := range sorted {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			o := o
			o.Mode, o.Permits = key.Mode, key.Permits
			// After a panic the key is asked for again, by the caller.
			guard("tried a lock", func() (err error) {
				grants[i], err = l.tryGrant(asking, key.Key, o)
				return err
			}, &errs[i])
		})
	}
	all.Wait()
	l.beginPrefix(ctx, grants, o, held)
	for _, lease := range *held {
		l.telemetry.acquired(ctx, began, lease)
	}
	if time.Since(began) < min(limit, atOnceTime) {
		return nil
	}
	for i, err := range errs {
		if err != nil && !errors.Is(err, ErrBusy) && !errors.Is(err, errTooLate) && !errors.Is(err, ErrLost) {
			err = unfinished(ctx, err, limit)
			return fmt.Errorf("acquire lock %s: %w", quote(sorted[i].Key), err)
		}
	}
	return nil
}

// tryGrant takes one key, if nobody wants it here and it is free at the store. Without a grant the error is the
// store's, if it was asked.
func (l *Locker) tryGrant(ctx context.Context, key string, o Options) (*grant, error) {
	if checkKey(key) != nil {
		return nil, nil
	}
	local := l.cfg.LocalHandoffs > 0
	if local {
		switch position, _, held := l.queues.join(key, o.want(), false); position {
		case ahead:
		case joined:
			if held.fresh() {
				return held, nil
			}
			l.giveBack(ctx, held)
			return nil, nil
		default:
			return nil, nil
		}
	}
	asked := false
	defer func() {
		if local && !asked { // also after a panic
			l.yield(key, "", o.kind())
		}
	}()
	g, err := l.ask(ctx, o, Request{Key: key})
	if asked = err == nil; asked && local {
		l.hold(g, o)
	}
	return g, err
}

// beginPrefix makes leases of the grants up to the first that is missing, and gives back the others at the same time. It
// waits for that while ctx lives.
func (l *Locker) beginPrefix(ctx context.Context, grants []*grant, o Options, held *Leases) {
	missing := false
	back, caller := new(sync.WaitGroup), ctx
	defer func() { awaitAlive(caller, giveBackTime, back) }()
	for _, g := range grants {
		if g == nil {
			missing = true
			continue
		}
		if !missing {
			if lease, err := l.begin(ctx, g, o); err == nil {
				*held = append(*held, lease)
				ctx = lease.Context()
				continue
			}
			missing = true
		}
		l.acquiring.Add(1) // tryAtOnce has entered
		back.Go(func() {
			defer l.leave()
			var err error
			guard("released a lock", func() error {
				l.giveBack(ctx, g)
				return nil
			}, &err)
			l.logNotReleased(ctx, g, err)
		})
	}
}
