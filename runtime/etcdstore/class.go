package etcdstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// class is one lease of etcd, to which the session's contenders with about the same TTL are attached. It is kept alive
// for as long as anybody uses it.
type class struct {
	id     etcd.LeaseID
	key    time.Duration // under which the session has it
	length time.Duration // what etcd gives it
	gone   chan struct{} // closed when etcd has forgotten it, or the session has
	wanted chan struct{} // has an element when somebody waits for a sign of life

	// Guarded by session.mu.
	alive time.Time     // when the last sign of life that was acknowledged was sent
	tried chan struct{} // closed when the next one is acknowledged or fails
	err   error         // why the last one failed
	users int           // leases, waiters and calls
	idle  time.Time     // since when it has no users
	over  bool          // gone is closed
	// keeping is how many locks may be under it that are to be kept, without a user.
	keeping int
}

// idleTime is for how long a class is kept that nobody uses.
const idleTime = time.Minute

// classLengths are those of the classes, in seconds. Each of the longer ones is half as long again. So a class is no
// longer than twice the TTL, except the shortest.
var classLengths = []int{2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80}

// classFor returns the length of the class for a TTL. A quarter is left for the time since the last sign of life, so
// that a lease may begin at any time between two of them.
func classFor(ttl time.Duration) time.Duration {
	need := ttl + ttl/3
	for _, seconds := range classLengths {
		if d := time.Duration(seconds) * time.Second; need <= d {
			return d
		}
	}
	d := time.Duration(classLengths[len(classLengths)-1]) * time.Second
	for d < need {
		d = (d + d/2).Round(time.Second)
	}
	return d
}

// class returns the class for a TTL, a new one if need be. It has one user more, until leave.
func (s *session) class(ctx context.Context, ttl time.Duration) (*class, error) {
	key := classFor(ttl)
	for {
		if c := s.join(key); c != nil {
			return c, nil
		}
		if err := s.makeClass(ctx, key); err != nil {
			return nil, err
		}
	}
}

// makeClass makes a class, unless there is one.
func (s *session) makeClass(ctx context.Context, key time.Duration) error {
	return s.makeOnce(ctx, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.classes[key] != nil
	}, func(ctx context.Context) error {
		var sent time.Time
		r, _, err := rewrite(ctx, s, ending, func(ctx context.Context) (*etcd.LeaseGrantResponse, error) {
			sent = time.Now()
			return s.client.Grant(ctx, int64(key/time.Second))
		})
		if err != nil {
			return err
		}
		c := &class{
			id: r.ID, key: key, length: time.Duration(r.TTL) * time.Second, alive: sent, idle: time.Now(),
			gone: make(chan struct{}), wanted: make(chan struct{}, 1), tried: make(chan struct{}),
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.classes[key] = c
		s.gate.Go(func() { s.keepAlive(c) })
		return nil
	})
}

func (s *session) join(key time.Duration) *class {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.classes[key]
	if c != nil {
		c.users++
	}
	return c
}

func (s *session) leave(c *class) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveLocked(c)
}

func (s *session) leaveLocked(c *class) {
	if c.users--; c.users == 0 {
		c.idle = time.Now()
	}
}

// lasts reports whether a class is known to last until then.
func (s *session) lasts(c *class, end time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.lastsLocked(end)
}

func (c *class) lastsLocked(end time.Time) bool { return !c.alive.Add(c.length).Before(end) }

// awaitLife waits until a class is known to last until then.
func (s *session) awaitLife(ctx context.Context, c *class, end time.Time) error {
	for first := true; ; first = false {
		s.mu.Lock()
		lasts, tried, err := c.lastsLocked(end), c.tried, c.err
		s.mu.Unlock()
		switch {
		case lasts:
			return nil
		case !first && err != nil && !retryable(err):
			return err
		}
		pace.Wake(c.wanted)
		select {
		case <-tried:
		case <-c.gone:
			return lockrt.ErrLost
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
		pause := max(c.pause()-time.Since(began), c.length/20)
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

// renewClass gives a sign of life, and tells those who wait for it what came of it.
func (s *session) renewClass(ctx context.Context, c *class) error {
	sent, err := hedged(ctx, s, func(ctx context.Context) (time.Time, error) {
		sent := time.Now()
		return sent, s.signOfLife(ctx, c)
	})
	s.mu.Lock()
	if err == nil {
		c.alive = sent
	}
	c.err = err
	close(c.tried)
	c.tried = make(chan struct{})
	s.mu.Unlock()
	if isNoLease(err) {
		s.lose(c)
	}
	return err
}

// signOfLife keeps a lease of etcd alive, and makes sure that the leader of etcd has heard it. A leader that has been
// replaced and does not know it says yes, too, while its successor counts down. So a majority has to agree afterwards
// that the term is still the one of the answer: every leader that follows begins all leases anew.
func (s *session) signOfLife(ctx context.Context, c *class) error {
	said, err := attempt(ctx, func(ctx context.Context) (*etcd.LeaseKeepAliveResponse, error) {
		return s.client.KeepAliveOnce(ctx, c.id)
	})
	if err != nil {
		return err
	}
	now, err := s.count(ctx)
	if err == nil && now.Header.RaftTerm != said.ResponseHeader.GetRaftTerm() {
		err = errOtherLeader
	}
	return err
}

// signOfServers asks for what is answered only when all has been applied that came before.
func (s *session) signOfServers(ctx context.Context) error {
	_, err := s.count(ctx)
	return err
}

func (s *session) count(ctx context.Context) (*etcd.GetResponse, error) {
	return attempt(ctx, func(ctx context.Context) (*etcd.GetResponse, error) {
		return s.client.Get(ctx, s.space.generation(s.id), etcd.WithCountOnly())
	})
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

// retire gives up a class that nobody has used for a while.
func (s *session) retire(c *class) bool {
	s.mu.Lock()
	old := c.users == 0 && c.keeping == 0 && time.Since(c.idle) > idleTime && c.key != classFor(lifeTime)
	if old {
		s.endClass(c)
	}
	s.mu.Unlock()
	if old {
		limited, cancel := context.WithTimeout(s.ctx, attemptTime)
		defer cancel()
		_ = s.revoke(limited, c.id)
	}
	return old
}

// endClass takes a class out of use; mu is held.
func (s *session) endClass(c *class) {
	if s.classes[c.key] == c {
		delete(s.classes, c.key)
	}
	if !c.over {
		c.over = true
		close(c.gone)
	}
}

// revoke ends a lease of etcd; without it the lease runs out.
func (s *session) revoke(ctx context.Context, id etcd.LeaseID) error {
	_, _, err := repeat(ctx, func(ctx context.Context) (*etcd.LeaseRevokeResponse, error) { return s.client.Revoke(ctx, id) })
	if isNoLease(err) {
		return nil
	}
	return err
}

// lose ends all leases of a class that etcd has forgotten, and with it their keys. Waiters join again.
func (s *session) lose(c *class) {
	s.mu.Lock()
	s.endClass(c)
	var lost []string
	var doubtful []*held // whose contenders may have another class
	for id, h := range s.leases {
		// A request that still moves one there will say so itself.
		if h.class == c || slices.Contains(h.maybe, c) {
			lost = append(lost, id)
			s.dropLocked(h)
			s.unsureLocked(h.key, h.id)
			if len(h.maybe) > 0 || len(h.moving) > 0 {
				doubtful = append(doubtful, h)
			}
		}
	}
	s.mu.Unlock()
	for _, h := range doubtful {
		s.abandon(h)
	}
	for _, id := range lost {
		s.Lost(id, errForgotten)
	}
	s.askAll()
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
