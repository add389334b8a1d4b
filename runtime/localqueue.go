package lockrt

import (
	"hash/maphash"
	"sync"
	"time"
)

// localQueues are the local queues of a Locker: of all its callers that want one key, one asks the store; the others
// wait behind it. When the holder releases, the lease may pass to the next without a round trip.
//
// The process has one place in the store's queue, whoever waits at it: the caller that asks. That is the first in the
// queue, from the moment at which nobody here holds the lock, or the holder's grant may not be passed on any more (see
// Config.LocalHandoffTime). A caller that gives up leaves its place at the store to the next in the queue.
//
// A key that one caller uses alone has a queue too, without anybody in it: that is what makes the second caller stand
// behind the first. So the maps are on the fast path, and sharded.
type localQueues struct {
	seed   maphash.Seed
	shards [32]queueShard
}

type queueShard struct {
	mu     sync.Mutex // guards queues and everything in them
	queues map[string]*localQueue
}

// localQueue is the queue of one key. It exists while somebody holds the key here, asks for it, or waits.
type localQueue struct {
	held        *grant       // what local leases live under, if any
	asking      bool         // a caller asks the store, ahead of those in the queue
	place       string       // the lease id of a place in the store's queue that was left to the next who asks
	said        word         // what the store said last to those who asked
	first, last *localWaiter // those who wait
	timer       *time.Timer
}

// word is what the store said of a lock that is wanted: who holds it, or why it could not be asked. Both are nil as
// long as it has not said anything.
type word struct {
	busy *BusyError
	err  error
	at   time.Time
}

// want is what a caller of a local queue asks for.
type want struct {
	kind    kind
	noRenew bool
	ttl     time.Duration
}

func (o Options) want() want { return want{kind: o.kind(), noRenew: o.NoRenew, ttl: o.TTL} }

// localWaiter is one caller's wait in a local queue.
type localWaiter struct {
	want
	queued     bool
	prev, next *localWaiter
	ready      chan call // receives once; buffered, so that whoever leaves does not wait
}

// call ends a wait: with the grant that passes to the caller, with the error of who asked for all, or, without
// either, with the request to ask the store, from the place there if one was left.
type call struct {
	grant *grant
	err   error
	place string
}

func newLocalQueues() *localQueues {
	ls := &localQueues{seed: maphash.MakeSeed()}
	for i := range ls.shards {
		ls.shards[i].queues = make(map[string]*localQueue)
	}
	return ls
}

func (ls *localQueues) shard(key string) *queueShard {
	return &ls.shards[maphash.String(ls.seed, key)%uint64(len(ls.shards))]
}

// position says how a caller stands to a local queue.
type position int

const (
	ahead    position = iota // nobody is before it: it asks the store, then calls hold, yield or fail
	behind                   // it waits for its turn
	atWindow                 // it did not want to wait: somebody is before it
	joined                   // it may begin a lease under the grant that is held for reading
)

// join puts a caller at the end of the queue, unless it may join those who read. One that does not want to wait gets
// what is held locally, if anything.
func (ls *localQueues) join(key string, w want, wait bool) (position, *localWaiter, *grant) {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[key]
	switch {
	case q == nil:
		s.queues[key] = &localQueue{asking: true}
		return ahead, nil, nil
	case w.kind.mode == Read && q.first == nil && !q.asking && q.held != nil && q.held.batch != nil:
		if q.joins(w) {
			return joined, nil, q.held
		}
		q.asking = true // nobody here is in the way
		return ahead, nil, nil
	case !wait:
		return atWindow, nil, q.held
	}
	t := &localWaiter{want: w, queued: true, prev: q.last, ready: make(chan call, 1)}
	if q.last != nil {
		q.last.next = t
	} else {
		q.first = t
	}
	q.last = t
	if q.first == t {
		ls.arm(key, q)
	}
	return behind, t, nil
}

// joins reports whether a reader has joined those who hold the lock here. The shard's mutex is held.
func (q *localQueue) joins(w want) bool {
	g := q.held
	return w.kind.mode == Read && !w.noRenew && g != nil && g.batch != nil &&
		g.batch.join(g.capped(w.ttl), g.locker.cfg.LocalHandoffTime)
}

// admit lets the readers at the head of the queue join those who hold the lock here. The shard's mutex is held.
func (q *localQueue) admit() {
	for t := q.first; t != nil && q.joins(t.want); t = q.first {
		q.remove(t)
		t.ready <- call{grant: q.held}
	}
}

// arm sends the first in the queue to the store when what is held may not be passed on any more, and at once if it
// could never pass to a caller of that kind. The shard's mutex is held.
func (ls *localQueues) arm(key string, q *localQueue) {
	if q.asking || q.first == nil {
		return
	}
	g := q.held
	if g == nil || !g.kind.exclusive() || !q.first.kind.exclusive() {
		q.send()
		return
	}
	left := time.Until(g.began.Add(g.locker.cfg.LocalHandoffTime))
	switch {
	case left <= 0:
		q.send()
	case q.timer == nil:
		q.timer = time.AfterFunc(left, func() { ls.handoffOver(key) })
	default:
		q.timer.Reset(left)
	}
}

// handoffOver runs when a grant has been held for LocalHandoffTime, or another one after it.
func (ls *localQueues) handoffOver(key string) {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[key]; q != nil {
		ls.arm(key, q)
	}
}

// send lets the first in the queue ask the store.
func (q *localQueue) send() {
	t := q.first
	q.remove(t)
	q.asking = true
	t.ready <- call{place: q.place}
	q.place = ""
}

// pass takes the next caller out of the queue if g can go on to it as it is. isLast says that g cannot be passed on
// once more: the next caller after that asks the store.
//
// An exclusive grant does not pass by the caller who asks the store, since it gets the lock when g goes back there. One
// of several permits does: that caller waits for another one.
func (ls *localQueues) pass(g *grant, k kind, ttl time.Duration, isLast bool) *localWaiter {
	s := ls.shard(g.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[g.key]
	// A lease is granted for one TTL. With another, its holder's death would block the lock for too long or too short.
	if q == nil || q.first == nil || q.first.kind != k || g.capped(q.first.ttl) != ttl {
		return nil
	}
	if k.exclusive() && (q.held != g || q.asking) {
		return nil
	}
	next := q.first
	q.remove(next)
	if isLast && q.first != nil && !q.asking {
		q.send()
	}
	return next
}

// leave takes a caller that gave up out of the queue. It reports false if its turn has come in the same moment; then
// ready holds what the caller has to pass on.
func (ls *localQueues) leave(key string, t *localWaiter) bool {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.queued {
		return false
	}
	s.queues[key].remove(t)
	return true
}

// state returns what is held locally, and what the store said last to those who asked.
func (ls *localQueues) state(key string) (*grant, word) {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[key]; q != nil {
		return q.held, q.said
	}
	return nil, word{}
}

func (q *localQueue) remove(t *localWaiter) {
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		q.first = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	} else {
		q.last = t.prev
	}
	t.prev, t.next, t.queued = nil, nil, false
}
