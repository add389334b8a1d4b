package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
)

const (
	// janitors is how many chores are done at a time.
	janitors = combineBatch
	// patience is how long a chore is tried again soon. It is never given up: the lease of etcd lives on, or comes to life
	// again with the answers, and what is under it with that.
	patience = 2 * time.Minute
	// longPause is the longest time between two tries after that, and of a chore that etcd denies to the account: somebody
	// may give the right back.
	longPause = 10 * time.Second
	// loseMemory is for how long a broken lease is remembered.
	loseMemory = time.Minute
	// endPause is how long a generation lasts at least after the end of the one before, while requests are under way: those
	// have to be made again.
	endPause = callTime
	// endAgain is the pause before another look whether there are any.
	endAgain = 200 * time.Millisecond
)

// chore is something to be done in etcd that nobody waits for. It is tried until it succeeds, or the session is closed.
type chore struct {
	do      func(context.Context) error
	from    time.Time // not before
	backoff time.Duration
	again   time.Time // not before, after a failure
	denied  bool      // that was for want of a right, which does not come with time
	over    func()    // if not nil, called when it is done

	heapIndex int
}

func (s *session) later(at time.Time, do func(context.Context) error) { s.laterUntil(at, do, nil) }

// laterUntil is later, with a function that is called when that is over.
func (s *session) laterUntil(at time.Time, do func(context.Context) error, over func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.laterLocked(at, do, over)
}

func (s *session) laterLocked(at time.Time, do func(context.Context) error, over func()) {
	s.chores.Set(&chore{do: do, from: at, over: over}, at)
	s.cleanByLocked(at)
}

// cleanByLocked sees to it that cleanUp looks at what there is to do at a time, at the latest. It is woken only if it would not: a
// lease that comes and goes before its end, as most do, wakes nobody.
func (s *session) cleanByLocked(at time.Time) {
	if at.Before(s.cleanAt) {
		s.cleanAt = at
		pace.Wake(s.wakeClean)
	}
}

// abandon has a contender deleted that its caller gave up, in the background. A full database takes deletions.
func (s *session) abandon(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abandonLocked(h)
}

func (s *session) abandonLocked(h *held) {
	now := time.Now()
	if h.rev == 0 || h.doubt != 0 {
		s.unsureLocked(h.key, h.id) // at once: whatever deletes it meanwhile would give the name back
		s.laterLocked(now, func(ctx context.Context) error { return s.abandonUnknown(ctx, h) }, nil)
		return
	}
	if h.asked {
		s.unsureLocked(h.key, h.id) // a release by name may come, or be tried again
	}
	s.laterLocked(now, func(ctx context.Context) error {
		_, err := s.commit(ctx, &s.frees, &change{
			lock: s.space.lock(h.key), ifs: []etcd.Cmp{createdAt(h.me, h.rev)},
			thens: []etcd.Op{etcd.OpDelete(h.me)},
		})
		if err == nil {
			s.gone(h.key, h.id)
		}
		return err
	}, nil)
}

// abandonUnknown deletes a contender, if there is one. If a request for it may still come, its generation ends with it,
// so that the request refuses itself. If another one has ended a moment ago, the contender is deleted now, and once more
// when the generation ends. The deletion itself may come late: the name has been given up for good.
func (s *session) abandonUnknown(ctx context.Context, h *held) error {
	end := etcd.OpDelete(h.me)
	g, later := s.mayEnd(h.doubt)
	if g.generation == 0 {
		if !later || !h.swept {
			if _, err := s.commit(ctx, &s.frees, &change{lock: s.space.lock(h.key), thens: []etcd.Op{end}}); err != nil {
				return err
			}
		}
		if h.swept = later; later {
			s.later(time.Now().Add(endAgain), func(ctx context.Context) error { return s.abandonUnknown(ctx, h) })
		}
		return nil
	}
	_, err := write(ctx, s, ending, func(ctx context.Context) (*etcd.TxnResponse, error) {
		return s.client.Txn(ctx).Then(end, s.endOf(g)).Commit()
	})
	if err == nil {
		s.forsake(g)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endsNow = false
	return err
}

// mayEnd returns the present ground if its generation is this one and may end now, and otherwise whether it has to later.
// Of many who end it together one does.
func (s *session) mayEnd(generation int64) (g ground, later bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if generation == 0 || s.ground.generation != generation {
		return ground{}, false
	}
	now := time.Now()
	if s.endsNow || s.asking > 0 && now.Sub(s.ended) < endPause {
		return ground{}, true
	}
	s.endsNow, s.ended = true, now
	return s.ground, false
}

// cleanUp does the chores, and ends leases that have run out. When the session closes it waits for the last callers.
func (s *session) cleanUp() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for s.ctx.Err() == nil {
		s.endDue()
		s.doDue(s.ctx, time.Now())
		timer.Reset(s.cleanPause())
		select {
		case <-s.ctx.Done():
		case <-s.wakeClean:
		case <-timer.C:
		}
	}
	s.gate.Empty()
}

// cleanRest ends the etcd leases when nobody uses the session any more, and with them what could not be deleted. It tries
// what is left besides once more. All that until a moment.
func (s *session) cleanRest(end time.Time) {
	ctx, cancel := context.WithDeadline(context.Background(), atLeast(end, callTime/5))
	defer cancel()
	s.endDue()
	s.revokeAll(ctx)
	s.doDue(ctx, time.Now().Add(patience)) // those too that failed a moment ago
	if s.revokeAll(ctx) {                  // those of locks that are kept by now
		s.nothingLeft()
	}
}

func (s *session) cleanPause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	pause := loseMemory
	if s.chores.Len() > 0 {
		_, at := s.chores.First()
		pause = min(pause, time.Until(at))
	}
	if s.ends.Len() > 0 {
		_, at := s.ends.First()
		pause = min(pause, time.Until(at))
	}
	pause = max(pause, 0)
	s.cleanAt = time.Now().Add(pause)
	return pause
}

// endDue ends the leases that nobody has renewed in time. It forgets broken ones that were told long ago.
func (s *session) endDue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for {
		h, ok := s.ends.TakeDue(now)
		if !ok {
			break
		}
		s.dropLocked(h)
		s.abandonLocked(h)
	}
	for id, at := range s.losing {
		if now.Sub(at) > loseMemory {
			delete(s.losing, id)
		}
	}
}

// doDue does the chores that are due, until ctx ends, and waits for them. Of a later now it does those in time that are
// to be tried again.
func (s *session) doDue(ctx context.Context, now time.Time) {
	workers := make(chan struct{}, janitors)
	for ctx.Err() == nil {
		s.mu.Lock()
		c, ok := s.chores.TakeDue(now)
		s.mu.Unlock()
		if !ok {
			break
		}
		if c.from.After(time.Now()) {
			continue // the session closes before its time
		}
		workers <- struct{}{}
		s.calls.Start(func() {
			defer func() { <-workers }()
			if !c.denied {
				_ = pace.Sleep(ctx, min(time.Until(c.again), time.Second))
			}
			s.doOne(ctx, c) // which puts it back if ctx has ended
		})
	}
	for range cap(workers) {
		workers <- struct{}{}
	}
}

func (s *session) doOne(ctx context.Context, c *chore) {
	limited, cancel := bounded(ctx)
	err := c.do(limited)
	cancel()
	c.denied = err != nil && ctx.Err() == nil && !errors.Is(err, errNoAnswer) && isDenied(err)
	switch {
	case err != nil:
		s.retry(c)
	case c.over != nil:
		c.over()
	}
}

// retry puts a chore back that has failed.
func (s *session) retry(c *chore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, most := time.Now(), time.Second
	switch {
	case c.denied && s.ctx.Err() != nil:
		return // the session closes before its time
	case c.denied || now.Sub(c.from) > patience:
		most = longPause
	}
	c.backoff = pace.Backoff(c.backoff, 50*time.Millisecond, most)
	c.again = now.Add(pace.Jitter(c.backoff))
	s.chores.Set(c, c.again)
}

// revokeAll ends the classes, and reports true, if the session is closed, nothing is held and no release is under way. Else
// what is released last does it.
func (s *session) revokeAll(ctx context.Context) bool {
	all, last := s.takeClasses()
	if last {
		s.revokeThese(ctx, all)
	}
	return last
}

// takeClasses takes the classes out of use if the session may end. A class stays, and runs out, under which a lock is to be
// kept that is not known to have left it.
func (s *session) takeClasses() (all []*class, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() == nil || len(s.leases)+len(s.presumed)+s.releasing > 0 {
		return nil, false
	}
	now := time.Now()
	keeps := func(c *class) bool { return c.keeping > 0 && now.Before(c.kept) }
	for _, c := range s.every {
		if !keeps(c) {
			s.endClass(c)
			all = append(all, c)
		}
	}
	for id, c := range s.forgot {
		if !keeps(c) {
			delete(s.forgot, id)
			all = append(all, c)
		}
	}
	s.ground = ground{}
	return all, true
}

// revokeThese revokes the etcd leases of classes until ctx ends, and remembers that one stays.
func (s *session) revokeThese(ctx context.Context, all []*class) {
	var revoking sync.WaitGroup
	for _, c := range all {
		revoking.Go(func() {
			began := time.Now()
			err := s.revoke(ctx, c.id)
			if err == nil {
				return
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.left = fmt.Errorf("a lease of etcd is left to its TTL of %s, with what is under it: %w",
				c.length, explain(context.Background(), began, err))
		})
	}
	revoking.Wait()
}

// nothingLeft ends what still waits for the servers.
func (s *session) nothingLeft() { s.end.Do(func() { close(s.over) }) }
