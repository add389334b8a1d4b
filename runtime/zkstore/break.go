package zkstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// mostTold is how long the list may be of what a session is told, in bytes. A session that does not take it learns of
// broken leases by its renewals.
const mostTold = 256 << 10

// Break implements lockrt.Breaker. The mark and what the holder's session is told are written in one step.
func (s *session) Break(ctx context.Context, b lockrt.Breaking) error {
	began := time.Now()
	limited, cancel := bounded(ctx)
	defer cancel()
	unheard := false
	for try := 1; ; try++ {
		done, doubt, err := s.breakOnce(limited, b)
		if err == lockrt.ErrNotHeld && unheard {
			return nil
		}
		if done || err != nil {
			return explain(ctx, began, err)
		}
		unheard = unheard || doubt // it has changed since it was read
		if !pace.Sleep(limited, pace.Jitter(time.Duration(try)*time.Millisecond)) {
			return explain(ctx, began, errMoved)
		}
	}
}

// breakOnce reports whether it has broken the lease, or found it broken. If not, something has changed meanwhile.
func (s *session) breakOnce(ctx context.Context, b lockrt.Breaking) (done, unheard bool, err error) {
	l, err := s.link(ctx)
	if err != nil {
		return false, false, err
	}
	if err := l.sync(ctx); err != nil {
		return false, false, err
	}
	a, err := l.look(ctx, b.Key, nil)
	if err != nil {
		return false, false, err
	}
	if a.head == "" {
		return false, false, lockrt.ErrNotHeld
	}
	n, err := l.get(ctx, a.head)
	if errors.Is(err, zk.ErrNoNode) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	e, epoch := entryOf(n.data), l.epoch(n.stat.Czxid)
	if e.Kept {
		epoch = e.Epoch
	}
	id, _ := s.idOf(b.Key, a.head)
	switch {
	case b.Fence.Epoch() != epoch, e.Kept != (b.ID == ""), !e.Kept && id != b.ID:
		return false, false, lockrt.ErrNotHeld
	case e.Kept:
		return true, false, l.dropKept(ctx, id, a.head)
	case e.Broken != "" && !b.Force:
		return true, false, nil
	}
	ops, err := s.breakOps(ctx, l, b, a.head, n)
	if err != nil {
		return false, false, err
	}
	_, unheard, err = l.multi(ctx, ops...)
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) {
		return false, unheard, nil
	}
	return err == nil, unheard, err
}

// breakOps are the changes that break a lease.
func (s *session) breakOps(ctx context.Context, l *link, b lockrt.Breaking, head string, n node) ([]any, error) {
	reason := shown(fmt.Sprintf("broken by %s: %s", s.node, b.Reason), maxReason)
	var ops []any
	if b.Force {
		ops = append(ops, &zk.DeleteRequest{Path: head, Version: n.stat.Version})
	} else {
		e := entryOf(n.data)
		e.Broken = reason
		ops = append(ops, &zk.SetDataRequest{Path: head, Data: jsonOf(e), Version: n.stat.Version})
	}
	path := s.space.session(n.stat.EphemeralOwner)
	holder, err := l.get(ctx, path)
	switch {
	case errors.Is(err, zk.ErrNoNode): // nobody to be told
		return ops, nil
	case err != nil:
		return nil, err
	case len(holder.data) > mostTold:
		return ops, nil
	}
	all := append(toldOf(holder.data), told{ID: escape(b.ID), Reason: reason})
	return append(ops, &zk.SetDataRequest{Path: path, Data: jsonOf(all), Version: holder.stat.Version}), nil
}
