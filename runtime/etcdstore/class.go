package etcdstore

import (
	"context"
	"fmt"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
)

// class is one lease of etcd, to which the session's contenders with about the same TTL are attached. It is kept alive
// for as long as anybody uses it.
type class struct {
	id     etcd.LeaseID
	key    time.Duration // under which the session has it while it is not aged
	length time.Duration // what etcd gives it
	term   uint64        // of the leader of etcd that granted it
	gone   chan struct{} // closed when etcd has forgotten it, or the session has
	wanted chan struct{} // has an element when somebody waits for a sign of life

	// Guarded by session.mu.
	alive time.Time     // when the last sign of life was sent that the leader of its term has acknowledged
	aged  bool          // etcd has another leader: alive does not change any more
	tried chan struct{} // closed when the next one is acknowledged or fails
	err   error         // why the last one failed
	users int           // leases, waiters and calls
	idle  time.Time     // since when it has no users
	over  bool          // gone is closed
	// keeping is how many locks may be under it that are to be kept, without a user, and kept until when at the latest.
	keeping int
	kept    time.Time

	// Of one that was lost.
	presumed bool      // because nobody answered: etcd may have it
	ends     time.Time // when it may be revoked, since what MinHold keeps is over
	ending   bool      // that is seen to
}

const (
	// idleTime is for how long a class is kept that nobody uses.
	idleTime = time.Minute
	// releaseTime is the same if nobody will use it. What is being released may be under it until then.
	releaseTime = 2 * callTime
)

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

// ownKey is that of the class of the session's own key alone. Nobody believes in it, so it does not age.
const ownKey time.Duration = 0

// class returns the class for a TTL, a new one if need be. It has one user more, until leave.
func (s *session) class(ctx context.Context, ttl time.Duration) (*class, error) {
	return s.classOf(ctx, classFor(ttl))
}

func (s *session) classOf(ctx context.Context, key time.Duration) (*class, error) {
	for pause := time.Duration(0); ; pause = pace.Backoff(pause, retryFirst, retryMost) {
		if c := s.join(key); c != nil {
			return c, nil
		}
		if pause > 0 && !pace.Sleep(ctx, pace.Jitter(pause)) {
			return nil, fmt.Errorf("%w: %w", errOtherLeader, ctx.Err())
		}
		if err := s.makeClass(ctx, key); err != nil {
			return nil, err
		}
	}
}

// makeClass makes a class, unless there is one. If etcd changes its leader meanwhile it is aged from the beginning.
func (s *session) makeClass(ctx context.Context, key time.Duration) error {
	return s.makeOnce(ctx, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.classes[key] != nil
	}, func(ctx context.Context) error {
		c, err := s.grant(ctx, key)
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		c.aged = key != ownKey && c.term != s.store.terms.latest.Load()
		if s.every[c.id] = c; !c.aged {
			s.classes[key] = c
		}
		s.gate.Go(func() { s.keepAlive(c) })
		return nil
	})
}

// grant has etcd grant a lease. Its term is one that has begun before, and so not a later one than that of the leader which
// has granted it.
func (s *session) grant(ctx context.Context, key time.Duration) (*class, error) {
	before, err := s.store.terms.known(ctx, s)
	if err != nil {
		return nil, err
	}
	length := key
	if key == ownKey {
		length = lifeTime
	}
	var sent time.Time
	r, _, err := rewriteSoon(ctx, s, ending, func(ctx context.Context) (*etcd.LeaseGrantResponse, error) {
		sent = time.Now()
		return s.client.Grant(ctx, int64(length/time.Second))
	})
	if err != nil {
		return nil, err
	}
	if after := r.ResponseHeader.GetRaftTerm(); after < before {
		s.store.terms.back(before, after)
	}
	s.saw(r.ResponseHeader)
	return &class{
		id: r.ID, key: key, length: time.Duration(r.TTL) * time.Second, term: before, alive: sent, idle: time.Now(),
		gone: make(chan struct{}), wanted: make(chan struct{}, 1), tried: make(chan struct{}),
	}, nil
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
		s.revokeLostLocked(c)
	}
}

// retire gives up a class that nobody has used for a while.
func (s *session) retire(c *class) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	unused := idleTime
	if c.aged {
		unused = releaseTime
	}
	old := c.users == 0 && c.keeping == 0 && c.key != ownKey && time.Since(c.idle) > unused
	if old {
		s.endClass(c)
		s.laterLocked(time.Now(), func(ctx context.Context) error { return s.revoke(ctx, c.id) }, nil)
	}
	return old
}

// endClass takes a class out of use; mu is held.
func (s *session) endClass(c *class) {
	s.putAside(c)
	delete(s.every, c.id)
	if !c.over {
		c.over = true
		close(c.gone)
	}
}

// putAside sees to it that nobody uses a class from here on who does not yet; mu is held.
func (s *session) putAside(c *class) {
	if s.classes[c.key] == c {
		delete(s.classes, c.key)
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
