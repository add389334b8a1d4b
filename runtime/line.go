package runtime

import (
	"hash/maphash"
	"sync"
	"time"
)

// lines are the local queues of a Locker: of all its callers that want one key, only the first asks the store; the
// others stand in line behind it. When the first releases, the lease may pass to the next without a round trip.
//
// A key that one caller uses alone has a line too, without anybody in it: that is what makes the second caller stand
// behind the first. So the maps are on the fast path, and sharded.
type lines struct {
	seed   maphash.Seed
	shards [32]lineShard
}

type lineShard struct {
	mu    sync.Mutex // guards lines and everything in them
	lines map[string]*line
}

// line is the queue of one key. It exists from the first caller's join to the last one's leave.
type line struct {
	held        *grant // what local leases live under; nil while the caller at the head is asking the store
	first, last *turn  // those who wait
}

// turn is one caller's place in a line.
type turn struct {
	ttl        time.Duration
	queued     bool
	prev, next *turn
	// ready receives once: the grant that passes to this caller, or nil when the caller has come to the head of the
	// line and is the one to ask the store. It is buffered, so that whoever leaves does not wait.
	ready chan *grant
}

func newLines() *lines {
	ls := &lines{seed: maphash.MakeSeed()}
	for i := range ls.shards {
		ls.shards[i].lines = make(map[string]*line)
	}
	return ls
}

func (ls *lines) shard(key string) *lineShard {
	return &ls.shards[maphash.String(ls.seed, key)%uint64(len(ls.shards))]
}

// place says how a caller stands to a line.
type place int

const (
	atHead   place = iota // nobody is before it: it asks the store, then calls hold or vacate
	inLine                // it waits for its turn
	atWindow              // it did not want to wait: somebody is before it
)

// join puts a caller at the end of the line. One that does not want to wait gets what is held locally, if anything.
func (ls *lines) join(key string, ttl time.Duration, wait bool) (place, *turn, *grant) {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	ln := s.lines[key]
	switch {
	case ln == nil:
		s.lines[key] = new(line)
		return atHead, nil, nil
	case !wait:
		return atWindow, nil, ln.held
	}
	t := &turn{ttl: ttl, queued: true, prev: ln.last, ready: make(chan *grant, 1)}
	if ln.last != nil {
		ln.last.next = t
	} else {
		ln.first = t
	}
	ln.last = t
	return inLine, t, nil
}

// hold records what the caller at the head got from the store.
func (ls *lines) hold(g *grant) {
	s := ls.shard(g.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines[g.key].held = g
}

// vacate ends the time at the head of a caller that held g, or nil if it was still asking: the next one comes to the
// head. It does nothing if the head has passed to somebody else already.
func (ls *lines) vacate(key string, g *grant) {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	ln := s.lines[key]
	if ln == nil || ln.held != g {
		return
	}
	ln.held = nil
	if next := ln.first; next != nil {
		ln.remove(next)
		next.ready <- nil
	} else {
		delete(s.lines, key)
	}
}

// pass takes the next caller out of the line if g can go on to it as it is.
func (ls *lines) pass(g *grant, ttl time.Duration) *turn {
	s := ls.shard(g.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	ln := s.lines[g.key]
	// A lease is granted for one TTL. With another, its holder's death would block the lock for too long or too short.
	if ln == nil || ln.held != g || ln.first == nil || ln.first.ttl != ttl {
		return nil
	}
	next := ln.first
	ln.remove(next)
	return next
}

// leave takes a caller that gave up out of the line. It reports false if its turn has come in the same moment; then
// ready holds what the caller has to pass on.
func (ls *lines) leave(key string, t *turn) bool {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.queued {
		return false
	}
	s.lines[key].remove(t)
	return true
}

// heldBy returns what is held locally.
func (ls *lines) heldBy(key string) *grant {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ln := s.lines[key]; ln != nil {
		return ln.held
	}
	return nil
}

func (ln *line) remove(t *turn) {
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		ln.first = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	} else {
		ln.last = t.prev
	}
	t.prev, t.next, t.queued = nil, nil, false
}
