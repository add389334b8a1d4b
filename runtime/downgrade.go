package lockrt

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// downgrade makes the lease of an exclusive grant a reader's. From the moment at which the store is asked it counts as
// one: nobody knows when the store does it, or whether it did if no answer comes.
func (g *grant) downgrade(ctx context.Context, le *Lease) error {
	asked, err := g.beginDowngrade(le)
	if err != nil {
		return fmt.Errorf("downgrade lease on %s: %w", quote(g.key), err)
	}
	if asked == (Downgrading{}) {
		return nil
	}
	g.locker.share(g)
	if err := g.locker.lookable(ctx); err != nil {
		return fmt.Errorf("downgrade lease on %s: %w", quote(g.key), err)
	}
	callCtx, cancel := g.locker.bounds.context(ctx, callTime)
	defer cancel()
	epoch, err := g.locker.session.(Downgrader).Downgrade(callCtx, asked)
	switch {
	case errors.Is(err, ErrLost):
		g.lose(errNotMine)
	case err != nil:
		return fmt.Errorf("downgrade lease on %s: %w", quote(g.key), unfinished(ctx, err, callTime))
	default:
		g.finishDowngrade(le, epoch)
	}
	return le.Err()
}

// beginDowngrade returns what to ask the store for; the zero value if that is done.
func (g *grant) beginDowngrade(le *Lease) (Downgrading, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.over != nil:
		return Downgrading{}, g.over
	case g.batch == nil && le.owner == nil && g.owner != le:
		return Downgrading{}, ErrNotHeld
	case g.kind.permits > 0:
		return Downgrading{}, fmt.Errorf("%w: it is that of a permit, and only a writer's can become a reader's", ErrOptions)
	case g.kind.mode == Read && !g.downgrading:
		return Downgrading{}, nil
	case le.owner != nil || len(g.sharers) > 0:
		return Downgrading{}, fmt.Errorf("%w, and one of its leases (Reentrant) may count on writing", ErrNested)
	case le.minHold > 0:
		return Downgrading{}, fmt.Errorf("%w: it has a MinHold, which keeps readers away too", ErrOptions)
	}
	if !g.downgrading {
		b := newBatch(time.Now(), g.asked)
		b.closed.Store(true) // until the store has answered
		b.begun = true
		b.add(le)
		g.owner, g.downgrading = nil, true
		g.locker.queues.share(g, b)
	}
	return Downgrading{Key: g.key, ID: g.id, Epoch: g.fence.Epoch(), NewEpoch: g.passes > 0}, nil
}

// finishDowngrade takes over the epoch that all readers beside the lease have. Other callers of this process may join
// it.
func (g *grant) finishDowngrade(le *Lease, epoch uint64) {
	g.mu.Lock()
	if g.over == nil && g.downgrading {
		g.downgrading = false
		if epoch != g.fence.Epoch() {
			g.fence, g.passes = FenceOf(epoch), 0
			le.fence.Store(uint64(g.fence))
		}
		g.batch.closed.Store(!g.queued || le.noRenew)
	}
	g.mu.Unlock()
	g.locker.queues.shared(g)
}
