package zkstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// checkChunk is how many contenders one request sees to. Servers take requests of a megabyte: mostWeight is less.
const checkChunk = 200

// Renew implements lockrt.Session. One write, through the leader, is a sign of life, and fails if a contender has gone
// or was changed.
func (s *session) Renew(ctx context.Context, renewals []lockrt.Renewal) []error {
	began := time.Now()
	limited, cancel := bounded(ctx)
	defer cancel()
	r := &renewing{s: s, errs: make([]error, len(renewals)), held: make([]held, len(renewals))}
	s.mu.Lock()
	for i, renewal := range renewals {
		r.begin(i, renewal.Key, renewal.ID)
	}
	s.mu.Unlock()
	for i, renewal := range renewals {
		if r.errs[i] == nil && renewal.TTL > r.held[i].ttl {
			r.errs[i] = s.lengthen(limited, &r.held[i], renewal.TTL)
		}
	}
	r.check(limited)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, renewal := range renewals {
		h := s.leases[renewal.ID]
		switch {
		case r.errs[i] != nil:
			r.errs[i] = explain(ctx, began, r.errs[i])
		case h == nil: // it has run out meanwhile, and is being deleted
			r.errs[i] = lockrt.ErrLost
		default:
			r.errs[i] = s.prolong(h, r.sent, renewal.TTL)
		}
	}
	return r.errs
}

// prolong moves the end of a lease, which is never earlier than it was; mu is held.
func (s *session) prolong(h *held, sent time.Time, ttl time.Duration) error {
	until := sent.Add(ttl)
	// The Locker counts from when it asked. That must be a time from which the session outlives the lease.
	if latest := h.l.latest(ttl); sent.After(latest) {
		return fmt.Errorf("%w: ZooKeeper is certain to know this process for %s only, as the last signs of life were late",
			errMoved, time.Until(latest.Add(ttl)).Round(time.Millisecond))
	}
	if until.After(h.until) {
		h.until = until
		s.ends.Set(h, until)
	}
	return nil
}

// renewing is one call that asks about leases.
type renewing struct {
	s    *session
	sent time.Time // before the first request
	errs []error
	held []held // as they were when the call began
}

// begin finds a lease; mu is held.
func (r *renewing) begin(i int, key, id string) {
	if r.sent.IsZero() {
		r.sent = time.Now()
	}
	if h := r.s.leases[id]; h != nil && h.key == key {
		r.held[i] = *h
	} else {
		r.errs[i] = lockrt.ErrLost
	}
}

// check asks about the leases, link by link. A process has one, but for the moment in which it has lost another.
func (r *renewing) check(ctx context.Context) {
	links := make(map[*link][]int)
	for i, err := range r.errs {
		if err == nil {
			links[r.held[i].l] = append(links[r.held[i].l], i)
		}
	}
	for l, open := range links {
		for len(open) > 0 {
			n := min(checkChunk, len(open))
			r.checkChunk(ctx, l, open[:n])
			open = open[n:]
		}
	}
}

// checkChunk asks about some leases at once. One that fails is taken out, and looked at alone.
func (r *renewing) checkChunk(ctx context.Context, l *link, chunk []int) {
	for len(chunk) > 0 {
		ops := make([]any, len(chunk))
		for j, i := range chunk {
			ops[j] = &zk.CheckVersionRequest{Path: r.held[i].path, Version: r.held[i].version}
		}
		said, _, err := l.multi(ctx, ops...)
		if err == nil {
			return
		}
		bad := failedOp(said, err)
		if bad < 0 || bad >= len(chunk) {
			if errors.Is(err, errExpired) {
				err = lockrt.ErrLost
			}
			for _, i := range chunk {
				r.errs[i] = err
			}
			return
		}
		i := chunk[bad]
		r.errs[i] = r.s.changed(ctx, &r.held[i])
		if r.errs[i] == nil { // it is as it should be after all
			continue
		}
		chunk = append(append([]int{}, chunk[:bad]...), chunk[bad+1:]...)
	}
}

// failedOp is the number of the operation because of which none was made; -1 if that is not the reason.
func failedOp(said []zk.MultiResponse, err error) int {
	if !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrBadVersion) {
		return -1
	}
	for j, op := range said {
		if op.Error != nil {
			return j
		}
	}
	return -1
}

// changed finds out why a contender is not as this process knows it.
func (s *session) changed(ctx context.Context, h *held) error {
	if err := h.l.sync(ctx); err != nil {
		return err
	}
	n, err := h.l.get(ctx, h.path)
	switch {
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, errExpired):
		s.mu.Lock()
		if now := s.leases[h.id]; now != nil && now.path == h.path {
			s.dropLocked(now)
		}
		s.mu.Unlock()
		return lockrt.ErrLost
	case err != nil:
		return err
	}
	e := entryOf(n.data)
	if e.Broken != "" {
		s.loseBroken(h.id, errors.New(e.Broken))
		return lockrt.ErrLost
	}
	h.version = n.stat.Version // the answer to a change was lost
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.leases[h.id]; now != nil && now.path == h.path {
		now.version, now.ttl = h.version, max(now.ttl, e.ttl())
	}
	return nil
}

// lengthen gives a lease a longer TTL, for those who want to know how long it may be held.
func (s *session) lengthen(ctx context.Context, h *held, ttl time.Duration) error {
	if most := h.l.maxTTL(); ttl > most {
		return fmt.Errorf("a lease of %s is longer than ZooKeeper gives, which is %s for a session of %s; see "+
			"zkstore.Config.SessionTimeout", ttl, most, h.l.agreed())
	}
	n, err := h.l.get(ctx, h.path)
	var stat *zk.Stat
	if err == nil {
		e := entryOf(n.data)
		e.TTL = ttl.Microseconds()
		stat, _, err = repeat(ctx, h.l, func(c *zk.Conn) (*zk.Stat, error) { return c.Set(h.path, jsonOf(e), h.version) })
	}
	switch {
	case errors.Is(err, errExpired):
		return lockrt.ErrLost
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrBadVersion):
		return s.changed(ctx, h)
	case err != nil:
		return err
	}
	h.version, h.ttl = stat.Version, ttl
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.leases[h.id]; now != nil && now.path == h.path {
		now.version, now.ttl = h.version, ttl
	}
	return nil
}

func (l *link) agreed() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.signs.timeout
}

// Check implements lockrt.Checker.
func (s *session) Check(ctx context.Context, leases []lockrt.HeldLease) []error {
	began := time.Now()
	limited, cancel := bounded(ctx)
	defer cancel()
	r := &renewing{s: s, errs: make([]error, len(leases)), held: make([]held, len(leases))}
	s.mu.Lock()
	for i, lease := range leases {
		r.begin(i, lease.Key, lease.ID)
	}
	s.mu.Unlock()
	r.check(limited)
	for i, err := range r.errs {
		r.errs[i] = explain(ctx, began, err)
	}
	return r.errs
}
