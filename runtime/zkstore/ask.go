package zkstore

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/waits"
)

// answer is what ZooKeeper said of a lock.
type answer struct {
	sent   time.Time
	mine   bool          // the contender of the request holds the lock
	head   string        // the path of what does; "": nobody
	before string        // that of the one right before the contender; of a node that keeps the lock, if that is first
	gone   bool          // there is no contender of the request
	left   time.Duration // for which the lock is kept by MinHold
}

// join makes a contender, or finds the one that an attempt without an answer has made.
func (s *session) join(ctx context.Context, l *link, req lockrt.Request) (stands *place, _ answer, _ error) {
	p := &place{l: l, key: req.Key, id: req.ID}
	lock := s.space.lock(req.Key)
	ops := []any{
		&zk.CreateRequest{
			Path: s.space.newborn(req.Key, req.ID), Data: jsonOf(s.entry(req.TTL)), Acl: l.acl(),
			Flags: zk.FlagEphemeralSequential,
		},
		// The answer to this one has the zxid of both, how many children there are, and the time.
		&zk.SetDataRequest{Path: lock, Data: []byte{}, Version: -1},
	}
	if err := s.room(ctx, l); err != nil {
		return nil, answer{}, err
	}
	s.joins(req.ID)
	made := newLock{s: s, path: lock}
	defer func() {
		s.joined(req.ID, stands)
		if stands == nil {
			made.leave()
		}
	}()
	for {
		a := answer{sent: time.Now()}
		if err := l.await(ctx); err != nil {
			return nil, a, err
		}
		done := start(l, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(ops...) })
		var r result[[]zk.MultiResponse]
		select {
		case r = <-done:
		case <-l.gone:
			return nil, a, errExpired
		case <-ctx.Done():
			s.seek(l, req.Key, req.ID, done)
			return nil, a, context.Cause(ctx)
		}
		switch {
		case r.err == nil:
			l.wrote(a.sent)
			stat := r.value[1].Stat
			l.clock(stat.Mtime)
			p.path, p.zxid = r.value[0].String, stat.Mzxid
			if a.mine = stat.NumChildren == 1; a.mine {
				a.head = p.path
			}
			return p, a, nil
		case errors.Is(r.err, zk.ErrNoNode):
			if err := made.make(ctx, l); err != nil {
				return nil, a, err
			}
		case !isUnheard(r.err):
			return nil, a, r.err
		default:
			found, err := s.rejoin(ctx, p)
			if err != nil {
				s.seek(l, req.Key, req.ID, nil)
				return nil, a, err
			}
			if found {
				return p, a, nil
			}
		}
	}
}

// rejoin looks for the contender that a request made whose answer was lost. Only one of this session of ZooKeeper
// counts: that of an earlier one is about to go.
func (s *session) rejoin(ctx context.Context, p *place) (found bool, err error) {
	paths, err := p.l.find(ctx, p.key, p.id)
	if err != nil {
		return false, err
	}
	known, _ := s.known(p.id)
	for _, path := range paths {
		if path == known {
			continue
		}
		stat, err := p.l.stat(ctx, path)
		switch {
		case err != nil:
			return false, err
		case stat == nil:
		case stat.EphemeralOwner != p.l.id || found:
			s.leave(&place{l: p.l, path: path})
		default:
			p.path, p.zxid, p.version, found = path, stat.Czxid, stat.Version, true
		}
	}
	return found, nil
}

func (s *session) entry(ttl time.Duration) entry {
	return entry{Node: s.node, TTL: ttl.Microseconds(), At: time.Now().UnixMicro()}
}

// look finds out who holds a lock. p is the contender of the caller, nil if it has none. What this server says of those
// before the contender is true, although it may lag behind: it knows of the contender, and so of all that came before.
func (l *link) look(ctx context.Context, key string, p *place) (answer, error) {
	return l.lookSince(ctx, key, p, time.Now())
}

// lookSince is look with what the servers said at a time, or later.
func (l *link) lookSince(ctx context.Context, key string, p *place, since time.Time) (a answer, err error) {
	lock := l.s.space.lock(key)
	q, asked, err := l.queue(ctx, lock, since)
	if err != nil {
		return a, err
	}
	a.sent, a.gone = asked, true
	if len(q.contenders) > 0 {
		a.head = lock + "/" + q.contenders[0].name
	}
	at := len(q.contenders)
	if p != nil {
		if i, there := q.rank(p.id, p.path[len(lock)+1:]); there {
			at, a.gone, a.mine = i, false, i == 0
		}
	}
	if at > 0 {
		a.before = lock + "/" + q.contenders[at-1].name
	}
	first := a.mine
	for _, name := range q.kept { // whoever comes first waits for it
		left, err := l.endKept(ctx, key, lock+"/"+name)
		if err != nil {
			return a, err
		}
		if left > a.left {
			a.head, a.mine, a.left = lock+"/"+name, false, left
			if first {
				a.before = a.head
			}
		}
	}
	return a, nil
}

// holder names who holds a lock; nil if that has gone meanwhile.
func (l *link) holder(ctx context.Context, key, path string) (*lockrt.BusyError, error) {
	n, err := l.get(ctx, path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil, nil
	case err != nil:
		return nil, err
	}
	e := entryOf(n.data)
	busy := e.busy(key)
	if e.Kept {
		left, err := l.left(ctx, n)
		if err != nil {
			return nil, err
		}
		busy.Remaining = max(left, time.Millisecond)
	}
	return busy, nil
}

// try is Acquire for a request that does not wait. A lock that is held costs no write.
func (s *session) try(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	for {
		l, err := s.link(ctx)
		if err != nil {
			return lockrt.Grant{}, err
		}
		p := s.again(l, req.ID)
		a := answer{sent: time.Now()}
		if p == nil {
			if busy, err := s.isBusy(ctx, l, req.Key); err != nil || busy != nil {
				return lockrt.Grant{}, errOr(err, busy)
			}
			if p, a, err = s.join(ctx, l, req); errors.Is(err, errExpired) {
				continue
			}
		}
		if err == nil && !a.mine {
			a, err = l.look(ctx, req.Key, p)
		}
		if err == nil && a.mine {
			var g lockrt.Grant
			if g, err = s.accept(ctx, p, req, a); err == nil {
				return g, nil
			}
		}
		if p != nil {
			s.leave(p)
		}
		if err != nil {
			return lockrt.Grant{}, err
		}
		if a.head == "" {
			continue
		}
		if busy, err := l.holder(ctx, req.Key, a.head); err != nil || busy != nil {
			return lockrt.Grant{}, errOr(err, busy)
		}
	}
}

func errOr(err error, busy *lockrt.BusyError) error {
	if err != nil {
		return err
	}
	return busy
}

// again is the contender of a request that was made before.
func (s *session) again(l *link, id string) *place {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.leases[id]; h != nil && h.l == l {
		p := h.place
		return &p
	}
	return nil
}

// isBusy returns who holds a lock, nil if nobody does. It writes nothing.
func (s *session) isBusy(ctx context.Context, l *link, key string) (*lockrt.BusyError, error) {
	stat, err := l.stat(ctx, s.space.lock(key))
	if err != nil || stat == nil || stat.NumChildren == 0 {
		return nil, err
	}
	if err := l.sync(ctx); err != nil { // this server may lag behind
		return nil, err
	}
	for {
		a, err := l.look(ctx, key, nil)
		if err != nil || a.head == "" {
			return nil, err
		}
		if busy, err := l.holder(ctx, key, a.head); err != nil || busy != nil {
			return busy, err
		}
	}
}

// accept turns a contender that holds the lock into the caller's grant. If it fails, the contender is the caller's.
func (s *session) accept(ctx context.Context, p *place, req lockrt.Request, a answer) (lockrt.Grant, error) {
	most := p.l.maxTTL()
	ttl := min(req.TTL, most)
	latest := p.l.latest(ttl)
	if latest.Before(a.sent) && time.Until(latest.Add(ttl)) < ttl*3/4 {
		// The last certain sign of life is old. That it exists is asked together with the next one.
		_, _, err := p.l.multi(ctx, &zk.CheckVersionRequest{Path: p.path, Version: -1})
		if errors.Is(err, zk.ErrNoNode) {
			return lockrt.Grant{}, errNoPlace
		}
		if err != nil {
			return lockrt.Grant{}, err
		}
		latest = p.l.latest(ttl)
	}
	start := a.sent
	if latest.Before(start) {
		start = latest
	}
	h := &held{place: *p, ttl: ttl, until: start.Add(ttl)}
	if !time.Now().Before(h.until) {
		return lockrt.Grant{}, waits.ErrTooLate
	}
	if err := s.hold(h); err != nil {
		return lockrt.Grant{}, err
	}
	g := lockrt.Grant{Epoch: p.l.epoch(p.zxid), Start: start, MaxTTL: most}
	if ttl != req.TTL {
		g.TTL = ttl
	}
	return g, nil
}

// Acquire implements lockrt.Session.
func (s *session) Acquire(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	if !s.gate.Enter() {
		return lockrt.Grant{}, lockrt.ErrClosed
	}
	defer s.gate.Leave()
	kept := s.pickUp(req.ID)
	if err := ctx.Err(); err != nil {
		s.putDown(kept)
		return lockrt.Grant{}, err
	}
	unload, err := s.load(req)
	if err != nil {
		s.putDown(kept)
		return lockrt.Grant{}, err
	}
	defer unload()
	if req.Wait > 0 {
		return s.wait(ctx, req, kept)
	}
	s.putDown(kept)
	limited, cancel := bounded(ctx)
	defer cancel()
	began := time.Now()
	g, err := s.try(limited, req)
	return g, explain(ctx, began, err)
}
