package zkstore

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/percent"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// keep puts a node in the place of a contender that keeps the lock without a holder. Nodes with a TTL are off by
// default, so it is one that stays: this process deletes it, or if it is dead whoever comes next. Another node says
// where, for sweep.
func (s *session) keep(ctx context.Context, h *held, keep time.Duration) error {
	path, began := s.space.kept(h.key, h.id), time.Now()
	e := entry{TTL: keep.Microseconds(), At: time.Now().UnixMicro(), Kept: true, Epoch: h.l.epoch(h.zxid)}
	ops := []any{
		&zk.DeleteRequest{Path: h.path, Version: h.version},
		&zk.CreateRequest{Path: path, Data: jsonOf(e), Acl: h.l.acl()},
		&zk.CreateRequest{Path: s.space.keep(h.id), Data: []byte(path), Acl: h.l.acl()},
	}
	said, unheard, err := h.l.multi(ctx, ops...)
	if failedOp(said, err) == 2 { // the contender is there; somebody has deleted the node for what is kept
		if err = h.l.makeTree(ctx); err != nil {
			return err
		}
		if said, unheard, err = h.l.multi(ctx, ops...); failedOp(said, err) == 2 {
			return errMoved // again
		}
	}
	if errors.Is(err, zk.ErrNoNode) && (unheard || h.asked) {
		var n node
		if n, err = h.l.get(ctx, path); err == nil {
			keep = max(keep, entryOf(n.data).ttl()) // it may be what another release has kept
		} else if errors.Is(err, zk.ErrNoNode) && !h.asked && time.Since(began) >= keep {
			return s.goneMeanwhile(ctx, h) // it was kept, and that is over
		}
	}
	switch {
	case errors.Is(err, zk.ErrBadVersion):
		if err := s.changedMeanwhile(ctx, h); err != nil {
			return err
		}
		return s.keep(ctx, h, keep)
	case errors.Is(err, zk.ErrNoNode):
		return lockrt.ErrLost
	case errors.Is(err, errExpired):
		s.endKeptAt(time.Now().Add(keep), h) // it may have been done
		return lockrt.ErrLost
	case err != nil:
		return err
	}
	s.dropKeptAt(time.Now().Add(keep), h.id, path)
	return nil
}

// endKeptAt deletes what this release or another one of the lease may have kept, when that is over.
func (s *session) endKeptAt(at time.Time, h *held) {
	s.later(at, func(ctx context.Context) error {
		l, err := s.link(ctx)
		if err != nil {
			return err
		}
		left, err := l.endKept(ctx, h.key, s.space.kept(h.key, h.id))
		if err == nil && left > 0 {
			s.endKeptAt(time.Now().Add(left), h)
		}
		return err
	})
}

// dropKeptAt deletes what a release keeps when it is over.
func (s *session) dropKeptAt(at time.Time, id, path string) {
	s.later(at, func(ctx context.Context) error {
		l, err := s.link(ctx) // that of the lease may be over, which does not end what it has kept
		if err != nil {
			return err
		}
		return l.dropKept(ctx, id, path)
	})
}

// left is for how long a node keeps a lock, at the most, by the clock of the leader. A node of others keeps none.
func (l *link) left(ctx context.Context, n node) (time.Duration, error) {
	e := entryOf(n.data)
	if !e.Kept {
		return 0, nil
	}
	now, err := l.now(ctx)
	return e.ttl() - now.Sub(time.UnixMilli(n.stat.Ctime)), err
}

// endKept returns for how long a node keeps a lock. If that is over, it deletes the node and returns 0. A node of others is
// left alone.
func (l *link) endKept(ctx context.Context, key, path string) (time.Duration, error) {
	n, err := l.get(ctx, path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return 0, nil
	case err != nil:
		return 0, err
	}
	if left, err := l.left(ctx, n); left > 0 || err != nil || !entryOf(n.data).Kept {
		return left, err
	}
	id, err := percent.Unescape(path[len(l.s.space.kept(key, "")):])
	if err != nil {
		return 0, err
	}
	return 0, l.dropKept(ctx, id, path)
}

// dropKept ends what keep began.
func (l *link) dropKept(ctx context.Context, id, path string) error {
	for _, path := range []string{path, l.s.space.keep(id)} { // the second is of no use without the first
		_, _, err := repeat(ctx, l, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(path, -1) })
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	return nil
}

// sweepTime is how often what dead processes have kept is looked for.
const sweepTime = 10 * time.Minute

// sweep deletes the nodes that keep locks longer than they should, because their process has died, until the link is
// over.
func (s *session) sweep(l *link) {
	for !l.isOver() && s.life.Err() == nil {
		began := time.Now()
		ctx, cancel := context.WithTimeout(s.life, sweepTime)
		failed, err := l.sweepAll(ctx)
		cancel()
		if err != nil && !l.isOver() && s.life.Err() == nil {
			err = explain(s.life, began, err)
			s.Logger.Warn("not all locks that dead processes keep by MinHold were swept up", "failed", failed, "error", err)
		}
		timer := time.NewTimer(pace.Jitter(sweepTime))
		select {
		case <-timer.C:
		case <-l.gone:
		case <-s.life.Done():
		}
		timer.Stop()
	}
}

// sweepAll goes on behind a node that the servers refuse to read or to delete. It returns how many there were, and why the
// first of them was.
func (l *link) sweepAll(ctx context.Context) (failed int, first error) {
	names, first := l.children(ctx, l.s.space.keeps())
	for _, name := range names {
		err := l.sweepOne(ctx, name)
		if err != nil {
			failed++
			first = cmp.Or(first, err)
		}
		if ctx.Err() != nil || l.isOver() {
			break
		}
	}
	return failed, first
}

func (l *link) sweepOne(ctx context.Context, name string) error {
	id, err := percent.Unescape(name)
	if err != nil {
		return nil // not one of ours
	}
	at, err := l.get(ctx, l.s.space.keep(id))
	if err == nil {
		path := string(at.data)
		if !l.s.isKept(path, id) {
			return nil // not one of ours
		}
		var n node
		if n, err = l.get(ctx, path); err == nil {
			if left, err := l.left(ctx, n); left > 0 || err != nil {
				return err
			}
		}
		if err == nil || errors.Is(err, zk.ErrNoNode) {
			err = l.dropKept(ctx, id, path)
		}
	}
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// isKept reports whether a path is that of a node that keeps a lock of this namespace after a lease.
func (s *session) isKept(path, id string) bool {
	lock, ok := strings.CutSuffix(path, "/"+keptMark+escape(id))
	key, ok2 := strings.CutPrefix(lock, s.space.locks()+"/")
	return ok && ok2 && key != "" && !strings.Contains(key, "/")
}
