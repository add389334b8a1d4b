package memstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// session implements lockrt.Session with all its abilities.
type session struct {
	store     *Store
	cfg       lockrt.SessionConfig
	closeOnce sync.Once
	closed    chan struct{}
	places    map[string]string // left to the next Acquire of the same ID, with their keys; guarded by store.mu
}

var (
	_ lockrt.Inspector  = (*session)(nil)
	_ lockrt.Breaker    = (*session)(nil)
	_ lockrt.Checker    = (*session)(nil)
	_ lockrt.Sharer     = (*session)(nil)
	_ lockrt.Downgrader = (*session)(nil)
)

var errBroken = fmt.Errorf("%w: it was broken before its grant was known", lockrt.ErrLost)

func (s *session) name(key string) name { return name{s.cfg.Namespace, key} }

// current returns the lock on key if it is taken at now. It needs store.mu.
func (s *session) current(key string, now time.Time) *lock {
	l := s.store.locks[s.name(key)]
	if l == nil {
		return nil
	}
	l.update(now)
	if len(l.holders) == 0 {
		return nil
	}
	return l
}

// holder returns the live holder of key with a lease id, and its lock, nil if there is none. It needs store.mu.
func (s *session) holder(key, id string, now time.Time) (*lock, *holder) {
	if l := s.store.locks[s.name(key)]; l != nil {
		return l, l.find(id, now)
	}
	return nil, nil
}

// Acquire implements lockrt.Session.
func (s *session) Acquire(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	if err := ctx.Err(); err != nil {
		s.leave(req)
		return lockrt.Grant{}, err
	}
	grant, w, err := s.take(req)
	if w == nil {
		return grant, err
	}
	if req.Told != nil {
		req.Told(s.busy(req.Key), nil)
	}
	var budget <-chan time.Time // nil, and so never ready, when the wait is without end
	if req.Wait != lockrt.Forever {
		timer := time.NewTimer(req.Wait)
		defer timer.Stop()
		budget = timer.C
	}
	select {
	case grant := <-w.granted:
		return grant, nil
	case <-budget:
		err = nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.closed:
		err = lockrt.ErrClosed
	}
	busy := s.busy(req.Key)
	if errors.Is(err, lockrt.ErrClosed) || req.Keep == nil || !req.Keep() || !s.keep(req) {
		s.leave(req)
	}
	switch {
	case err == nil:
		return lockrt.Grant{}, busy
	case errors.Is(err, lockrt.ErrClosed):
		return lockrt.Grant{}, err
	}
	return lockrt.Grant{}, errors.Join(err, busy)
}

// take returns the grant, or a queued waiter, or the error of a try.
func (s *session) take(req lockrt.Request) (lockrt.Grant, *waiter, error) {
	s.store.mu.Lock()
	defer s.store.unlock()
	select {
	case <-s.closed:
		return lockrt.Grant{}, nil, lockrt.ErrClosed
	default:
	}
	delete(s.places, req.ID)
	now := time.Now()
	l := s.store.lockOn(s.name(req.Key), now)
	l.update(now) // if a timer is about to run: those who wait come first
	h := l.find(req.ID, now)
	switch {
	case h != nil && h.broken:
		return lockrt.Grant{}, nil, errBroken
	case h != nil:
		return h.grant(), nil, nil
	case l.queue.len() == 0 && l.fits(&req):
		return l.grant(s, &req, now), nil, nil
	case req.Wait == 0:
		return lockrt.Grant{}, nil, l.busy(now)
	}
	if w := l.queue.find(req.ID); w != nil {
		w.req = req // its place was kept
		return lockrt.Grant{}, w, nil
	}
	w := &waiter{session: s, req: req, granted: make(chan lockrt.Grant, 1)}
	l.enqueue(w, now)
	return lockrt.Grant{}, w, nil
}

// busy says who holds a lock.
func (s *session) busy(key string) *lockrt.BusyError {
	s.store.mu.Lock()
	defer s.store.unlock()
	now := time.Now()
	if l := s.current(key, now); l != nil {
		return l.busy(now)
	}
	return &lockrt.BusyError{Key: key}
}

// leave takes a request out of the queue, and off the lock if that was granted in the same moment.
func (s *session) leave(req lockrt.Request) {
	s.store.mu.Lock()
	defer s.store.unlock()
	delete(s.places, req.ID)
	if l := s.store.locks[s.name(req.Key)]; l != nil {
		l.withdraw(req.ID, time.Now())
	}
}

// Renew implements lockrt.Session.
func (s *session) Renew(_ context.Context, renewals []lockrt.Renewal) []error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	now := time.Now()
	errs := make([]error, len(renewals))
	for i, r := range renewals {
		_, h := s.holder(r.Key, r.ID, now)
		if h == nil || h.broken {
			errs[i] = lockrt.ErrLost
		} else if until := now.Add(r.TTL); until.After(h.expires) {
			h.expires = until
		}
	}
	return errs
}

// Release implements lockrt.Session.
func (s *session) Release(_ context.Context, rel lockrt.Release) error {
	s.store.mu.Lock()
	defer s.store.unlock()
	now := time.Now()
	l, h := s.holder(rel.Key, rel.ID, now)
	if h == nil {
		return lockrt.ErrLost
	}
	l.end(h, rel.Keep, now)
	return nil
}

// List implements lockrt.Session.
func (s *session) List(_ context.Context, prefix string) ([]lockrt.LockInfo, error) {
	s.store.mu.Lock()
	defer s.store.unlock()
	now := time.Now()
	var infos []lockrt.LockInfo
	for n, l := range s.store.locks {
		if n.namespace != s.cfg.Namespace || !strings.HasPrefix(n.key, prefix) {
			continue
		}
		if l = s.current(n.key, now); l != nil {
			infos = append(infos, l.info(now, maxListed))
		}
	}
	slices.SortFunc(infos, func(a, b lockrt.LockInfo) int { return strings.Compare(a.Key, b.Key) })
	return infos, nil
}

// Inspect implements lockrt.Inspector.
func (s *session) Inspect(_ context.Context, key string) (lockrt.LockInfo, error) {
	s.store.mu.Lock()
	defer s.store.unlock()
	now := time.Now()
	if l := s.current(key, now); l != nil {
		return l.info(now, len(l.holders)), nil
	}
	return lockrt.LockInfo{}, lockrt.ErrNotHeld
}

// Check implements lockrt.Checker.
func (s *session) Check(_ context.Context, leases []lockrt.HeldLease) []error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	now := time.Now()
	errs := make([]error, len(leases))
	for i, lease := range leases {
		if _, h := s.holder(lease.Key, lease.ID, now); h == nil || h.broken {
			errs[i] = lockrt.ErrLost
		}
	}
	return errs
}

// Shares implements lockrt.Sharer.
func (s *session) Shares() {}

// Downgrade implements lockrt.Downgrader.
func (s *session) Downgrade(_ context.Context, d lockrt.Downgrading) (uint64, error) {
	s.store.mu.Lock()
	defer s.store.unlock()
	now := time.Now()
	l, h := s.holder(d.Key, d.ID, now)
	switch {
	case h == nil || h.broken:
		return 0, lockrt.ErrLost
	case h.permits > 0:
		return 0, fmt.Errorf("%w: the lease is that of a permit", lockrt.ErrOptions)
	case h.mode == lockrt.Read:
		return h.epoch, nil
	}
	h.mode = lockrt.Read
	if d.NewEpoch {
		h.epoch = s.store.nextEpoch(now)
	}
	epoch := h.epoch
	l.changed(now)
	return epoch, nil
}

// Break implements lockrt.Breaker. The holder's Locker is in this process: it has ended the lease when Lost returns.
func (s *session) Break(_ context.Context, b lockrt.Breaking) error {
	marked := s.mark(b)
	if marked == nil {
		return lockrt.ErrNotHeld
	}
	if marked.session != nil {
		marked.session.cfg.Lost(b.ID, fmt.Errorf("broken by %s: %s", s.cfg.Node, b.Reason))
	}
	s.store.mu.Lock()
	defer s.store.unlock()
	now := time.Now()
	if l, h := s.named(b, now); h != nil && h.broken {
		l.end(h, 0, now)
	}
	return nil
}

// mark makes a lease one that cannot be renewed any more. It returns the holder, nil if there is none.
func (s *session) mark(b lockrt.Breaking) *holder {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	_, h := s.named(b, time.Now())
	if h == nil {
		return nil
	}
	h.broken = true
	marked := *h
	return &marked
}

// named returns the holder that b names, and its lock. It needs store.mu.
func (s *session) named(b lockrt.Breaking, now time.Time) (*lock, *holder) {
	l := s.store.locks[s.name(b.Key)]
	if l == nil {
		return nil, nil
	}
	for i := range l.holders {
		h := &l.holders[i]
		if h.id == b.ID && lockrt.FenceOf(h.epoch) == b.Fence && h.live(now) {
			return l, h
		}
	}
	return nil, nil
}

// Close implements lockrt.Session.
func (s *session) Close(context.Context) error {
	s.closeOnce.Do(func() {
		close(s.closed)
		s.store.mu.Lock()
		defer s.store.unlock()
		for id, key := range s.places {
			if l := s.store.locks[s.name(key)]; l != nil {
				l.withdraw(id, time.Now())
			}
		}
		s.places = nil
	})
	return nil
}

// keep reports false if the session is closed, so that nobody will take the place.
func (s *session) keep(req lockrt.Request) bool {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	select {
	case <-s.closed:
		return false
	default:
	}
	s.places[req.ID] = req.Key
	return true
}
