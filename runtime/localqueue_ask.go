package lockrt

// This file is what callers of a local queue do who ask the store for it: one at a time.

// hold records what the caller who asked got from the store. Readers in the queue join it.
func (ls *localQueues) hold(g *grant) {
	s := ls.shard(g.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[g.key]
	q.asking, q.said = false, word{}
	if g.kind.permits == 0 {
		q.held = g
		q.admit()
	}
	ls.arm(g.key, q)
	s.dropIfEmpty(g.key, q)
}

// yield ends the asking of a caller of a kind that has no grant. The next in the queue asks, from the place at the
// store that is left, if any. It returns that place if nobody wants it: a place is for leases of one kind.
func (ls *localQueues) yield(key, place string, k kind) (unwanted string) {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[key]
	q.asking = false
	if place != "" {
		q.place = place
	}
	q.admit()
	if q.first == nil || q.first.kind != k {
		unwanted, q.place = q.place, ""
	}
	if q.first != nil {
		q.send()
		return unwanted
	}
	s.dropIfEmpty(key, q)
	return unwanted
}

// stays reports whether the place of a caller that gives up is wanted by the next in the queue, and keeps it.
func (ls *localQueues) stays(key, place string, k kind) bool {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[key]
	if q.first == nil || q.first.kind != k {
		return false
	}
	q.place = place
	return true
}

// fail ends the wait of all in the queue with the error that one of them got for all: the store could not be asked.
func (ls *localQueues) fail(key string, err error) {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[key]
	q.asking, q.place, q.said = false, "", word{}
	for t := q.first; t != nil; t = q.first {
		q.remove(t)
		t.ready <- call{err: err}
	}
	s.dropIfEmpty(key, q)
}

// told keeps what the store said to the caller who asks.
func (ls *localQueues) told(key string, w word) {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[key]; q != nil {
		q.said = w
	}
}

// vacate ends the time of g, which was held here. The next in the queue asks the store, unless somebody does already.
// It does nothing if another grant has taken its place.
func (ls *localQueues) vacate(g *grant) {
	s := ls.shard(g.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[g.key]
	if q == nil || q.held != g {
		return
	}
	q.held = nil
	if q.first != nil && !q.asking {
		q.send()
	}
	s.dropIfEmpty(g.key, q)
}

// share makes g, of which the store was asked to let others read too, one that is held for reading. The mutex of g is
// held.
func (ls *localQueues) share(g *grant, b *batch) {
	s := ls.shard(g.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	g.kind.mode, g.batch = Read, b
}

// shared follows the store's answer to that. Readers in the queue join g, unless somebody else is before them.
func (ls *localQueues) shared(g *grant) {
	s := ls.shard(g.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[g.key]
	if q == nil || q.held != g || q.asking {
		return
	}
	q.admit()
	ls.arm(g.key, q)
}

func (s *queueShard) dropIfEmpty(key string, q *localQueue) {
	if q.held != nil || q.asking || q.first != nil {
		return
	}
	if q.timer != nil {
		q.timer.Stop()
	}
	delete(s.queues, key)
}
