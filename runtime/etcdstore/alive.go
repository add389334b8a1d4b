package etcdstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// lasts reports whether a class is known to last until then.
func (s *session) lasts(c *class, end time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.lastsLocked(end)
}

func (c *class) lastsLocked(end time.Time) bool { return !c.alive.Add(c.length).Before(end) }

// errAged is that of a class in which nobody may believe for longer than so far.
var errAged = errors.New("etcd has another leader than the one that granted the lease")

// errShort is that of a class that cannot last for so long.
var errShort = errors.New("the lease of etcd is shorter than that of the lock")

// awaitLife waits until a class is known to last until then.
func (s *session) awaitLife(ctx context.Context, c *class, end time.Time) error {
	for first := true; ; first = false {
		s.mu.Lock()
		lasts, aged, tried, err := c.lastsLocked(end), c.aged, c.tried, c.err
		s.mu.Unlock()
		switch {
		case lasts:
			return nil
		case aged:
			return errAged
		case end.After(time.Now().Add(c.length)):
			return errShort
		case !first && err != nil && !retryable(err):
			return err
		}
		pace.Wake(c.wanted)
		select {
		case <-tried:
		case <-c.gone:
			return s.whyGone(c)
		case <-s.ctx.Done():
			return lockrt.ErrClosed
		case <-ctx.Done():
			return cmp.Or(err, context.Cause(ctx))
		}
	}
}

// keepAlive renews a class, until nobody needs it any more.
func (s *session) keepAlive(c *class) {
	timer := time.NewTimer(c.pause())
	defer timer.Stop()
	failing := false
	for {
		wanted := c.wanted
		if failing {
			wanted = nil // there is a pause between two tries
		}
		select {
		case <-s.ctx.Done():
			return
		case <-c.gone:
			return
		case <-wanted:
		case <-timer.C:
		}
		if s.retire(c) {
			return
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(etcd.WithRequireLeader(s.ctx), max(c.length/4, 2*attemptTime))
		err := s.renewClass(ctx, c)
		cancel()
		pause := max(c.pause()-time.Since(began), c.pause()/4)
		if err != nil {
			pause = pace.Jitter(min(c.length/20, time.Second))
			if !failing {
				s.askAll() // what they hear of their watches may be nothing for the same reason
			}
		}
		failing = s.logAlive(failing, began, err)
		timer.Reset(pause)
	}
}

// pause is the time from one sign of life to the next, of which servers that answer soon hear within a quarter. It is when
// a class may be retired, too.
func (c *class) pause() time.Duration {
	pause := min(c.length/5, idleTime)
	return pause - pace.Jitter(pause/10)
}

// ageLocked has nobody believe in a class for longer than so far, but for that of the session's own key; mu is held.
func (s *session) ageLocked(c *class) {
	if c.key == ownKey || c.aged {
		return
	}
	c.aged = true
	s.putAside(c)
	s.rehouseLocked()
	close(c.tried)
	c.tried = make(chan struct{})
}

// sign is a sign of life that was acknowledged.
type sign struct {
	sent time.Time
	aged bool // not by the leader that granted the lease, or that is not known
}

// renewClass gives a sign of life, and tells those who wait for it what came of it.
func (s *session) renewClass(ctx context.Context, c *class) error {
	said, err := hedged(ctx, s, func(ctx context.Context) (sign, error) { return s.signOfLife(ctx, c) })
	s.mu.Lock()
	switch {
	case err != nil:
	case !said.aged:
		c.alive = said.sent
	default:
		s.ageLocked(c)
	}
	c.err = err
	close(c.tried)
	c.tried = make(chan struct{})
	s.mu.Unlock()
	if isNoLease(err) {
		s.lose(c, err)
	}
	return err
}

// signOfLife keeps a lease of etcd alive, and finds out whether the leader of etcd that granted it has heard that, and was the
// leader.
//
// A leader that has been replaced and does not know it says yes, too, while its successor counts down. So a majority has to
// agree afterwards that the term is still the one of the answer: every leader that follows begins all leases anew.
//
// And a leader that stood still revokes, when it goes on, the leases that nobody has renewed as far as it knows, whatever its
// successor has heard (https://github.com/etcd-io/etcd/issues/15247). So only the leader of the term in which a lease was
// granted counts: no former one knows of it, and its own countdown ends when nobody believes in the lease any more.
func (s *session) signOfLife(ctx context.Context, c *class) (sign, error) {
	sent := time.Now()
	said, err := attempt(ctx, func(ctx context.Context) (*etcd.LeaseKeepAliveResponse, error) {
		return s.client.KeepAliveOnce(ctx, c.id)
	})
	if isNoLease(err) {
		err = s.forgotten(c, err)
	}
	if err != nil {
		return sign{}, err
	}
	s.saw(said.ResponseHeader)
	if s.isAged(c) || c.key == ownKey {
		return sign{sent, true}, nil
	}
	now, err := s.count(ctx)
	switch {
	case err != nil:
		return sign{}, err
	case now.Header.GetRaftTerm() != c.term:
		return sign{sent, true}, nil
	case said.ResponseHeader.GetRaftTerm() != c.term:
		return sign{}, errOtherLeader // the server that answered is behind the others
	}
	return sign{sent, false}, nil
}

// asked is how many contenders are read to find out whether etcd has forgotten a lease.
const asked = 16

// forgotten returns an error of a server that does not know a lease, or errOtherLeader if it may be mistaken: a former leader
// that does not know of its successor has not heard of what that one has granted. What is under a lease goes with it. Where
// that does not tell, whoever puts something under it is told by a majority. The worst is assumed where nobody answers for
// callTime, whatever time a sign of life has.
func (s *session) forgotten(c *class, noLease error) error {
	under, used := s.under(c)
	if !used {
		return presumption{noLease} // nobody loses anything by that
	}
	if len(under) == 0 {
		return errOtherLeader
	}
	ops := make([]etcd.Op, len(under))
	for i, h := range under {
		ops[i] = etcd.OpGet(h.me, etcd.WithKeysOnly())
	}
	limited, cancel := context.WithTimeout(s.ctx, callTime)
	defer cancel()
	r, _, err := repeat(limited, func(ctx context.Context) (*etcd.TxnResponse, error) {
		return s.client.Txn(ctx).Then(ops...).Commit()
	})
	switch {
	case err != nil && limited.Err() != nil && s.ctx.Err() == nil:
		return presumption{noLease}
	case err != nil:
		return err
	}
	gone := false
	for i, said := range r.Responses {
		switch kvs := said.GetResponseRange().GetKvs(); {
		case len(kvs) == 0:
			gone = gone || s.staysUnder(under[i], c)
		case etcd.LeaseID(kvs[0].Lease) == c.id:
			return errOtherLeader
		}
	}
	if gone {
		return noLease
	}
	return errOtherLeader
}

// under returns some contenders that are under a class, or may be, and whether anybody uses it.
func (s *session) under(c *class) (some []*held, used bool) {
	if c.key == ownKey {
		return []*held{{me: s.space.generation(s.id)}}, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.leases {
		if len(some) == min(asked, s.parts) {
			break
		}
		if h.class == c || slices.Contains(h.othersLocked(), c) {
			some = append(some, h)
		}
	}
	return some, c.users+c.keeping+s.releasing > 0
}

// staysUnder reports whether what was under a class should be there still.
func (s *session) staysUnder(h *held, c *class) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.key == ownKey || s.leases[h.id] == h && h.class == c && len(h.othersLocked()) == 0
}

func (s *session) isAged(c *class) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.aged
}

// signOfServers asks for what is answered only when all has been applied that came before.
func (s *session) signOfServers(ctx context.Context) error {
	_, err := s.count(ctx)
	return err
}

func (s *session) count(ctx context.Context) (*etcd.GetResponse, error) {
	r, err := attempt(ctx, func(ctx context.Context) (*etcd.GetResponse, error) {
		return s.client.Get(ctx, s.space.generation(s.id), etcd.WithCountOnly())
	})
	if err == nil {
		s.saw(r.Header)
	}
	return r, err
}

// logAlive logs when the servers begin not to hear of this process, and when they do again.
func (s *session) logAlive(failing bool, began time.Time, err error) bool {
	switch {
	case s.ctx.Err() != nil || isNoLease(err):
		return failing
	case err != nil && !failing:
		err = explain(context.Background(), began, err)
		s.Logger.Warn("leases of etcd not kept alive; locks may be lost", "error", err)
	case err == nil && failing:
		s.Logger.Info("leases of etcd are kept alive again")
	}
	return err != nil
}

// start returns the moment from which a lease may be counted: not after that from which its class lasts for the TTL.
func (s *session) start(c *class, sent time.Time, ttl time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if latest := c.alive.Add(c.length - ttl); sent.After(latest) {
		return latest
	}
	return sent
}
