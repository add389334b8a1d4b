package lockrt

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// This file is how Close gives back what is left: what is urgent first, and as much at a time as the store answers.

const (
	// closeReleases is how many releases Close keeps in flight at first. Each that was answered soon adds one.
	closeReleases = 32
	// mostCloseReleases is how many wait to be begun at the most.
	mostCloseReleases = 1024
)

// releaseAll releases leases until ctx ends, or the store has answered none of them for callTime. What limits it is how
// long an answer takes, and not how much a store can do at a time, so it has ever more of them under way. Nobody renews
// them any more: it begins with what MinHold is to keep, and with what runs out first.
func (l *Locker) releaseAll(ctx context.Context, leases []*Lease, report *closeReport) {
	urgent := urgencies(leases)
	slices.SortStableFunc(leases, func(a, b *Lease) int { return urgent[a].compare(urgent[b]) })
	ctx, stop := l.untilSilence(ctx, 0)
	defer stop()
	var wg sync.WaitGroup
	slots := make(chan struct{}, mostCloseReleases)
	free := func() {
		select {
		case slots <- struct{}{}:
		default:
		}
	}
	for range closeReleases {
		free()
	}
	for i, lease := range leases {
		if !urgent[lease].now() {
			select {
			case <-slots:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			report.stopped(leases[i:], urgent, ctx.Err())
			break
		}
		wg.Go(func() {
			began := time.Now()
			err := guarded("released a lock", func() error { return lease.releaseAtLast(ctx) })
			free()
			if time.Since(began) < soon {
				free()
			}
			if err != nil {
				report.failed(lease, err, urgent[lease].keep)
			}
		})
	}
	wg.Wait()
}

// urgency is whether a lease is to be kept, and when it runs out at the store.
type urgency struct {
	keep bool
	end  time.Time
}

func urgencies(leases []*Lease) map[*Lease]urgency {
	of := make(map[*Lease]urgency, len(leases))
	for _, lease := range leases {
		keep, _ := lease.grant.keep(lease)
		of[lease] = urgency{keep > 0, lease.grant.storeEnd()}
	}
	return of
}

// now reports whether there is no time to wait for the releases of others.
func (u urgency) now() bool { return u.keep && time.Until(u.end) < callTime }

func (u urgency) compare(other urgency) int {
	if u.keep != other.keep {
		if u.keep {
			return -1
		}
		return 1
	}
	return u.end.Compare(other.end)
}

// releaseRefused tries once more what was refused, at a store that answers: it may have ended with the session, or whatever
// was in the way may be over. The first that is done shows it, and the others follow. One may have a trouble of its own, so
// that a few are asked for.
func (l *Locker) releaseRefused(ctx context.Context, left []*grant) {
	for i, g := range left[:min(len(left), maxCloseErrors)] {
		before := time.Now()
		limited, stop := context.WithTimeout(ctx, soon)
		l.releaseLeft(limited, left[i:i+1])
		if stop(); g.gone.Load() {
			l.releaseLeft(ctx, left[i+1:])
			return
		}
		if l.heard.Load().Before(before) {
			return // it does not answer
		}
	}
}

// releaseLeft tries once more what others have failed to give back, or have given up, until the store is silent.
func (l *Locker) releaseLeft(ctx context.Context, left []*grant) {
	ctx, stop := l.untilSilence(ctx, 0)
	defer stop()
	slots := make(chan struct{}, mostCloseReleases)
	var all sync.WaitGroup
	for _, g := range left {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			all.Wait()
			return
		}
		all.Go(func() {
			l.releaseGuarded(ctx, g, callTime)
			<-slots
		})
	}
	all.Wait()
}

// releaseGuarded is releaseUnused in a goroutine of the Locker.
func (l *Locker) releaseGuarded(ctx context.Context, g *grant, limit time.Duration) {
	err := guarded("released a lock", func() error {
		l.releaseUnused(ctx, g, limit)
		return nil
	})
	l.logNotReleased(ctx, g, err)
}

// logNotReleased tells of a driver that has panicked, or ended its goroutine.
func (l *Locker) logNotReleased(ctx context.Context, g *grant, err error) {
	if err != nil {
		l.cfg.Logger.LogAttrs(ctx, slog.LevelError, "unused lock grant not released, left to its TTL",
			slog.String("key", g.key), slog.Any("error", err))
	}
}
