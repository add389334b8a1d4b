package zkstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	// janitors is how many chores are done at a time. Most are one request, and the others up to 16. With few, waiters that
	// leave together go at the pace of the round trips; with many, signs of life and renewals stand behind them at a busy
	// server, and come late.
	janitors = 32
	// maxLeaving is how many contenders and locks that were given up may wait for their deletion before no others are made:
	// callers who give up soon could make them faster than they are deleted.
	maxLeaving = 64
	// loseMemory is for how long a broken lease is remembered.
	loseMemory = time.Minute
	// refusedPause is the longest time between two tries of a chore that the servers refuse, as for want of a right.
	// Somebody may give it back, and what was to be deleted blocks a lock for as long as this process lives.
	refusedPause = 10 * time.Second
)

// chore is something to be done in ZooKeeper that nobody waits for. It is tried until it succeeds, or the session of
// ZooKeeper is over.
type chore struct {
	do      func(context.Context) error
	leaves  bool // it is one of session.leaving
	weight  int  // of the contender that stays until it is done
	backoff time.Duration

	heapIndex int
}

func (s *session) later(at time.Time, do func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addLocked(&chore{do: do}, at)
}

// leaveBy does what deletes a contender, in the background. It has its weight until then.
func (s *session) leaveBy(weight int, do func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveByLocked(weight, do)
}

func (s *session) leaveByLocked(weight int, do func(context.Context) error) *chore {
	s.leaving++
	s.countLocked()
	s.weight += weight
	c := &chore{do: do, leaves: true, weight: weight}
	s.addLocked(c, time.Now())
	return c
}

// countLocked is called when there are more or fewer deletions to be done. Those who wait for room go on when there is some
// for many.
func (s *session) countLocked() {
	switch n := s.leaving + s.drops - s.refused; {
	case n >= maxLeaving:
		s.crowded = true
	case s.crowded && n <= maxLeaving/2:
		s.crowded = false
		close(s.roomy)
		s.roomy = make(chan struct{})
	}
}

// room waits until few enough contenders are to be deleted for another one to be made.
func (s *session) room(ctx context.Context, l *link) error {
	for {
		s.mu.Lock()
		crowded, roomy := s.crowded, s.roomy
		s.mu.Unlock()
		if !crowded {
			return nil
		}
		select {
		case <-roomy:
		case <-l.gone:
			return errExpired
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *session) addLocked(c *chore, at time.Time) {
	s.chores.Set(c, at)
	if first, _ := s.chores.First(); first == c {
		pace.Wake(s.wakeClean)
	}
}

// leave has a contender deleted that its caller gave up, in the background. It goes with its session of ZooKeeper at
// the latest.
func (s *session) leave(p *place) {
	s.leaveBy(p.weight(), p.delete)
}

func (p *place) delete(ctx context.Context) error {
	_, err := once(ctx, p.l, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(p.path, -1) })
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, errExpired) {
		return nil
	}
	return err
}

// seek has the contender deleted that a request made whose answer is not known, as soon as the request can do no more:
// its call has ended, and what was sent on a connection that was cut either was done or is refused.
func (s *session) seek(l *link, key, id string, under <-chan result[[]zk.MultiResponse]) {
	s.leaveBy(s.weigh(key, id), func(ctx context.Context) error {
		if under != nil {
			select {
			case <-under:
				under = nil
			case <-l.gone:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		all, err := l.find(ctx, key, id)
		if errors.Is(err, errExpired) {
			return nil
		}
		known, joining := s.known(id)
		if joining { // one of these may be about to be granted
			return errors.Join(err, errMoved)
		}
		for _, path := range all {
			if path != known {
				err = errors.Join(err, (&place{l: l, path: path}).delete(ctx))
			}
		}
		return err
	})
}

// find returns the contenders of a lease.
func (l *link) find(ctx context.Context, key, id string) (paths []string, err error) {
	if err := l.sync(ctx); err != nil {
		return nil, err
	}
	lock := l.s.space.lock(key)
	q, _, err := l.queue(ctx, lock, time.Now())
	if err != nil {
		return nil, err
	}
	for _, i := range q.ranks[id] {
		paths = append(paths, lock+"/"+q.contenders[i].name)
	}
	return paths, nil
}

// known is the path of the contender that holds a lock, or waits, by the ID of its lease. If somebody is joining, there may
// be one that is not known yet.
func (s *session) known(id string) (path string, joining bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	joining = s.joining[id] > 0
	switch {
	case s.leases[id] != nil:
		path = s.leases[id].path
	case s.waiters[id] != nil && s.waiters[id].path != "":
		path = s.waiters[id].path
	case s.places[id] != nil:
		path = s.places[id].path
	default:
		path = s.staying[id]
	}
	return path, joining
}

// joins is for a request that may have a contender before that is known. It calls joined in any case.
func (s *session) joins(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joining[id]++
}

// joined makes the contender of a request known, nil if it has none, in the same step.
func (s *session) joined(id string, p *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.waiters[id]; w != nil && p != nil {
		w.path = p.path
	}
	if s.joining[id]--; s.joining[id] == 0 {
		delete(s.joining, id)
	}
}

// cleanUp does the chores, and ends leases that have run out, until the session is done.
func (s *session) cleanUp() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for !s.finish() {
		s.endDue()
		s.doDue()
		timer.Reset(s.cleanPause())
		select {
		case <-s.wakeClean:
		case <-timer.C:
		}
	}
}

func (s *session) cleanPause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	pause := loseMemory
	if s.chores.Len() > 0 && s.busyJanitors < janitors {
		_, at := s.chores.First()
		pause = min(pause, time.Until(at))
	}
	if s.ends.Len() > 0 {
		_, at := s.ends.First()
		pause = min(pause, time.Until(at))
	}
	if !s.linger.IsZero() {
		pause = min(pause, max(time.Until(s.linger), lingerTime/100))
	}
	return max(pause, 0)
}

// endDue ends the leases that nobody has renewed in time. It forgets broken ones that were told long ago.
func (s *session) endDue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var due []*held
	for {
		h, ok := s.ends.TakeDue(now)
		if !ok {
			break
		}
		due = append(due, h)
		s.dropLocked(h)
	}
	for id, at := range s.losing {
		if now.Sub(at) > loseMemory {
			delete(s.losing, id)
		}
	}
	s.leaveAllLocked(due)
}

// leaveAllLocked is leave for many; mu is held. A path has the ID of its lease, and is never used again.
func (s *session) leaveAllLocked(all []*held) {
	links := make(map[*link][]*held)
	for _, h := range all {
		links[h.l] = append(links[h.l], h)
	}
	for l, all := range links {
		for chunk := range slices.Chunk(all, checkChunk) {
			s.leaveChunkLocked(l, chunk)
		}
	}
}

// leaveChunkLocked has some contenders deleted by one request. If that is refused, as when one of them has gone, each is
// deleted alone.
func (s *session) leaveChunkLocked(l *link, chunk []*held) {
	weight, ops := 0, make([]any, len(chunk))
	for i, h := range chunk {
		weight += h.weight()
		ops[i] = &zk.DeleteRequest{Path: h.path, Version: -1}
	}
	var c *chore
	alone := false
	c = s.leaveByLocked(weight, func(ctx context.Context) error {
		if !alone {
			_, err := once(ctx, l, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(ops...) })
			if err == nil || isRetryable(err) {
				return unlessExpired(err)
			}
			alone = true
		}
		errs, _ := each(ctx, l, chunk, func(ctx context.Context, h *held) (error, error) {
			if ctx.Err() != nil {
				return context.Cause(ctx), nil
			}
			return h.delete(ctx), nil
		})
		var left []*held
		s.mu.Lock()
		defer s.mu.Unlock()
		for i, h := range chunk {
			if errs[i] != nil {
				left = append(left, h)
			} else {
				c.weight -= h.weight()
				s.weight -= h.weight()
			}
		}
		chunk = left
		return errors.Join(errs...)
	})
}

// unlessExpired is an error, but that of a session whose end was all that was to be done.
func unlessExpired(err error) error {
	if errors.Is(err, errExpired) {
		return nil
	}
	return err
}

// doDue starts the chores that are due, as far as there are janitors.
func (s *session) doDue() {
	now := time.Now()
	for {
		s.mu.Lock()
		if s.busyJanitors == janitors {
			s.mu.Unlock()
			return
		}
		c, ok := s.chores.TakeDue(now)
		if ok {
			s.busyJanitors++
		}
		s.mu.Unlock()
		if !ok {
			return
		}
		s.calls.Start(func() { s.doOne(c) })
	}
}

func (s *session) doOne(c *chore) {
	ctx, cancel := context.WithTimeoutCause(s.life, callTime, errNoAnswer)
	err := c.do(ctx)
	cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busyJanitors--
	if err == nil {
		s.weight -= c.weight
	}
	refused := err != nil && !isRetryable(err)
	if c.leaves && (err == nil || refused) { // nobody waits for what is refused
		c.leaves = false
		s.leaving--
		s.countLocked()
	}
	if err != nil && !errors.Is(err, lockrt.ErrClosed) {
		most := time.Second
		if refused {
			most = refusedPause
		}
		c.backoff = pace.Backoff(c.backoff, 50*time.Millisecond, most)
		s.chores.Set(c, time.Now().Add(pace.Jitter(c.backoff)))
	}
	pace.Wake(s.wakeClean)
}
