package etcdstore

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// When etcd has changed its leader, the leases of etcd from before are of use for as long only as the former leader has heard
// that they are. So all contenders of this session that hold a lock go to new ones, those first that are over first.

// mostPasses is in how many passes about all are rehoused.
const mostPasses = 32

// rehouseLocked sees to it that contenders are rehoused; mu is held.
func (s *session) rehouseLocked() {
	if !s.rehouses {
		s.rehouses = true
		s.calls.Start(s.rehouse)
	}
}

// rehouse moves the contenders whose classes are aged, until there are none.
func (s *session) rehouse() {
	var pause time.Duration
	for {
		leases := s.badlyHoused()
		if len(leases) == 0 {
			return
		}
		if s.rehouseThese(leases) {
			pause = 0
		}
		pause = pace.Backoff(pause, 2*retryFirst, retryMost)
		pace.Sleep(s.ctx, pace.Jitter(pause))
	}
}

// badlyHoused are those leases whose contenders are to be rehoused next: meanwhile others may be found that are over earlier.
// Without one, or when the session is closed, the rehousing is over.
func (s *session) badlyHoused() (leases []lockrt.HeldLease) {
	all := s.agedLeases()
	slices.SortFunc(all, func(a, b held) int { return a.until.Compare(b.until) })
	for _, h := range all[:min(len(all), max(moveLanes*moveBatch, len(all)/mostPasses))] {
		leases = append(leases, lockrt.HeldLease{Key: h.key, ID: h.id})
	}
	return leases
}

func (s *session) agedLeases() (all []held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() == nil {
		for _, h := range s.leases {
			if h.agedLocked() {
				all = append(all, held{id: h.id, key: h.key, until: h.until})
			}
		}
	}
	if s.rehouses = len(all) > 0; !s.rehouses { // the last ones may have been released, or moved by others
		s.tellRehousedLocked()
	}
	return all
}

// rehouseThese moves contenders in some transactions at a time. It begins none any more, and reports false, when one has failed.
func (s *session) rehouseThese(leases []lockrt.HeldLease) bool {
	lanes, failed := make(chan struct{}, moveLanes), atomic.Bool{}
	for chunk := range slices.Chunk(leases, moveBatch) {
		if lanes <- struct{}{}; failed.Load() {
			<-lanes
			break
		}
		s.calls.Start(func() {
			defer func() { <-lanes }()
			if !s.rehouseChunk(chunk) {
				failed.Store(true)
			}
		})
	}
	for range moveLanes {
		lanes <- struct{}{}
	}
	return !failed.Load()
}

func (s *session) rehouseChunk(leases []lockrt.HeldLease) bool {
	ctx, cancel := bounded(etcd.WithRequireLeader(s.ctx))
	defer cancel()
	r := &renewing{s: s, ttls: make([]time.Duration, len(leases)), aged: true}
	r.begin(leases)
	r.move(ctx)
	s.tellGone(leases, r.errs)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tellRehousedLocked()
	return !slices.ContainsFunc(r.errs, func(err error) bool { return err != nil && !errors.Is(err, lockrt.ErrLost) })
}

func (s *session) tellRehousedLocked() {
	close(s.rehoused)
	s.rehoused = make(chan struct{})
}

// awaitRehousing returns when no class is aged any more under which the contenders of a renewal may be.
func (r *renewing) awaitRehousing(ctx context.Context) error {
	for r.s.ctx.Err() == nil {
		rehoused := r.rehousing()
		if rehoused == nil {
			return nil
		}
		select {
		case <-rehoused:
		case <-r.s.ctx.Done():
			return lockrt.ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return lockrt.ErrClosed
}

// rehousing sees to it that the contenders of a renewal are rehoused. It returns a channel that is closed when some are; nil: that
// is not needed.
func (r *renewing) rehousing() <-chan struct{} {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	for _, i := range r.open() {
		if h := r.s.leases[r.held[i].id]; h != nil && h.agedLocked() {
			r.s.rehouseLocked()
			return r.s.rehoused
		}
	}
	return nil
}

// freshen sees to it that a contender that holds the lock is under the class of its question, and under another one if that is
// aged: the lease would be over soon. It reports false if the contender is to be read again. If an answer is lost, it may be
// under either.
func (w *waiting) freshen(ctx context.Context, a *answer) (done bool, err error) {
	q, old := w.q, w.q.class
	if !w.s.isAged(old) {
		done, err = w.s.adopt(ctx, q, a)
		if isNoLease(err) {
			w.s.lose(old, err)
			return false, w.join(ctx, loose{})
		}
		return done, err
	}
	c, err := w.s.class(ctx, w.Req.TTL)
	if err != nil {
		return false, err
	}
	q.class = c
	if done, err = w.s.adopt(ctx, q, a); done && err == nil {
		w.s.leave(old)
		return true, nil
	}
	q.class = old
	w.s.leave(c)
	if isNoLease(err) {
		w.s.lose(c, err)
		return false, nil
	}
	return false, err
}
