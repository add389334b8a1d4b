package lockrt

import (
	"hash/maphash"
	"sync"
	"time"
)

// lines are the local queues of a Locker: of all its callers that want one key, one asks the store; the others stand in
// line behind it. When the holder releases, the lease may pass to the next without a round trip.
//
// The process has one place in the store's queue, whoever waits at it: the caller that asks. That is the first in line,
// from the moment at which nobody here holds the lock, or the holder's grant may not be passed on any more (see
// Config.LocalHandoffTime). A caller that gives up leaves its place at the store to the next in line.
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

// line is the queue of one key. It exists while somebody holds the key here, asks for it, or waits.
type line struct {
	held        *grant // what local leases live under, if any
	asking      bool   // a caller asks the store, ahead of those in line
	place       string // the lease id of a place in the store's queue that was left to the next who asks
	said        word   // what the store said last to those who asked
	first, last *turn  // those who wait
	timer       *time.Timer
}

// word is what the store said of a lock that is wanted: who holds it, or why it could not be asked. Both are nil as long
// as it has not said anything.
type word struct {
	busy *BusyError
	err  error
	at   time.Time
}

// turn is one caller's wait in a line.
type turn struct {
	ttl        time.Duration
	queued     bool
	prev, next *turn
	ready      chan call // receives once; buffered, so that whoever leaves does not wait
}

// call ends a turn's wait: with the grant that passes to the caller, with the error of who asked for all, or, without
// either, with the request to ask the store, from the place there if one was left.
type call struct {
	grant *grant
	err   error
	place string
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

// position says how a caller stands to a line.
type position int

const (
	ahead    position = iota // nobody is before it: it asks the store, then calls hold, yield or fail
	inLine                   // it waits for its turn
	atWindow                 // it did not want to wait: somebody is before it
)

// join puts a caller at the end of the line. One that does not want to wait gets what is held locally, if anything.
func (ls *lines) join(key string, ttl time.Duration, wait bool) (position, *turn, *grant) {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	ln := s.lines[key]
	switch {
	case ln == nil:
		s.lines[key] = &line{asking: true}
		return ahead, nil, nil
	case !wait:
		return atWindow, nil, ln.held
	}
	t := &turn{ttl: ttl, queued: true, prev: ln.last, ready: make(chan call, 1)}
	if ln.last != nil {
		ln.last.next = t
	} else {
		ln.first = t
	}
	ln.last = t
	if ln.first == t {
		ls.arm(key, ln)
	}
	return inLine, t, nil
}

// arm sends the first in line to the store when what is held may not be passed on any more. The shard's mutex is held.
func (ls *lines) arm(key string, ln *line) {
	if ln.held == nil || ln.asking || ln.first == nil {
		return
	}
	g := ln.held
	left := time.Until(g.began.Add(g.locker.cfg.LocalHandoffTime))
	switch {
	case left <= 0:
		ln.send()
	case ln.timer == nil:
		ln.timer = time.AfterFunc(left, func() { ls.handoffOver(key) })
	default:
		ln.timer.Reset(left)
	}
}

// handoffOver runs when a grant has been held for LocalHandoffTime, or another one after it.
func (ls *lines) handoffOver(key string) {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ln := s.lines[key]; ln != nil {
		ls.arm(key, ln)
	}
}

// send lets the first in line ask the store.
func (ln *line) send() {
	t := ln.first
	ln.remove(t)
	ln.asking = true
	t.ready <- call{place: ln.place}
	ln.place = ""
}

// pass takes the next caller out of the line if g can go on to it as it is. isLast says that g cannot be passed on once
// more: whoever comes after that caller asks the store.
func (ls *lines) pass(g *grant, ttl time.Duration, isLast bool) *turn {
	s := ls.shard(g.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	ln := s.lines[g.key]
	// A lease is granted for one TTL. With another, its holder's death would block the lock for too long or too short.
	if ln == nil || ln.held != g || ln.asking || ln.first == nil || ln.first.ttl != ttl {
		return nil
	}
	next := ln.first
	ln.remove(next)
	if isLast && ln.first != nil {
		ln.send()
	}
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

// state returns what is held locally, and what the store said last to those who asked.
func (ls *lines) state(key string) (*grant, word) {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ln := s.lines[key]; ln != nil {
		return ln.held, ln.said
	}
	return nil, word{}
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
