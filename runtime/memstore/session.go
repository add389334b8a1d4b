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

// session implements lockrt.Session, lockrt.Inspector and lockrt.Breaker.
type session struct {
	store     *Store
	cfg       lockrt.SessionConfig
	closeOnce sync.Once
	closed    chan struct{}
}

var (
	_ lockrt.Inspector = (*session)(nil)
	_ lockrt.Breaker   = (*session)(nil)
	_ lockrt.Checker   = (*session)(nil)
)

var errBroken = fmt.Errorf("%w: it was broken before its grant was known", lockrt.ErrLost)

func (s *session) name(key string) name { return name{s.cfg.Namespace, key} }

// current returns the lock on key if it is taken at now. It needs store.mu.
func (s *session) current(key string, now time.Time) *lock {
	l := s.store.locks[s.name(key)]
	if l == nil || !l.held(now) {
		return nil
	}
	return l
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
	if errors.Is(err, lockrt.ErrClosed) || req.Keep == nil || !req.Keep() {
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
	defer s.store.mu.Unlock()
	select {
	case <-s.closed:
		return lockrt.Grant{}, nil, lockrt.ErrClosed
	default:
	}
	now := time.Now()
	l := s.store.lockOn(s.name(req.Key), now)
	if !l.held(now) && l.queue.len() > 0 {
		l.free(now) // its timer is about to run: those who wait come first
	}
	switch {
	case l.owner.id == req.ID && l.held(now) && l.owner.broken:
		return lockrt.Grant{}, nil, errBroken
	case l.owner.id == req.ID && l.held(now):
		return lockrt.Grant{Epoch: l.owner.epoch, Start: l.owner.since, TTL: l.expires.Sub(l.owner.since)}, nil, nil
	case !l.held(now):
		return l.take(s, req, now), nil, nil
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
	defer s.store.mu.Unlock()
	if l := s.store.locks[s.name(key)]; l != nil {
		return l.busy(time.Now())
	}
	return &lockrt.BusyError{Key: key}
}

// leave takes a request out of the queue, and off the lock if that was granted in the same moment.
func (s *session) leave(req lockrt.Request) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
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
		l := s.current(r.Key, now)
		if l == nil || l.owner.id != r.ID || l.owner.broken {
			errs[i] = lockrt.ErrLost
		} else if until := now.Add(r.TTL); until.After(l.expires) {
			l.expires = until
		}
	}
	return errs
}

// Release implements lockrt.Session.
func (s *session) Release(_ context.Context, rel lockrt.Release) error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	now := time.Now()
	l := s.current(rel.Key, now)
	switch {
	case l == nil || l.owner.id != rel.ID:
		return lockrt.ErrLost
	case rel.Keep > 0:
		l.keep(rel.Keep, now)
	default:
		l.free(now)
	}
	return nil
}

// List implements lockrt.Session.
func (s *session) List(_ context.Context, prefix string) ([]lockrt.LockInfo, error) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	now := time.Now()
	var infos []lockrt.LockInfo
	for n, l := range s.store.locks {
		if n.namespace == s.cfg.Namespace && strings.HasPrefix(n.key, prefix) && l.held(now) {
			infos = append(infos, l.info(now))
		}
	}
	slices.SortFunc(infos, func(a, b lockrt.LockInfo) int { return strings.Compare(a.Key, b.Key) })
	return infos, nil
}

// Inspect implements lockrt.Inspector.
func (s *session) Inspect(_ context.Context, key string) (lockrt.LockInfo, error) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	now := time.Now()
	if l := s.current(key, now); l != nil {
		return l.info(now), nil
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
		if l := s.current(lease.Key, now); l == nil || l.owner.id != lease.ID || l.owner.broken {
			errs[i] = lockrt.ErrLost
		}
	}
	return errs
}

// Break implements lockrt.Breaker. The holder's Locker is in this process: it has ended the lease when Lost returns.
func (s *session) Break(_ context.Context, b lockrt.Breaking) error {
	l := s.mark(b)
	if l == nil {
		return lockrt.ErrNotHeld
	}
	if l.session != nil {
		l.session.cfg.Lost(b.ID, fmt.Errorf("broken by %s: %s", s.cfg.Node, b.Reason))
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	now := time.Now()
	if cur := s.current(b.Key, now); cur != nil && cur.owner == *l {
		cur.free(now)
	}
	return nil
}

// mark makes a lease one that cannot be renewed any more. It returns the owner, nil if that is another one.
func (s *session) mark(b lockrt.Breaking) *owner {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	l := s.current(b.Key, time.Now())
	if l == nil || l.owner.id != b.ID || lockrt.FenceOf(l.owner.epoch) != b.Fence {
		return nil
	}
	l.owner.broken = true
	marked := l.owner
	return &marked
}

// Close implements lockrt.Session.
func (s *session) Close(context.Context) error {
	s.closeOnce.Do(func() { close(s.closed) })
	return nil
}
