package lockrt

// This file is what callers of a line do who ask the store for it: one at a time.

// hold records what the caller who asked got from the store.
func (ls *lines) hold(g *grant) {
	s := ls.shard(g.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	ln := s.lines[g.key]
	ln.held, ln.asking, ln.said = g, false, word{}
	ls.arm(g.key, ln)
}

// yield ends the asking of a caller that has no grant. The next in line asks, from the place at the store that is left,
// if any. It returns that place if nobody wants it.
func (ls *lines) yield(key, place string) (unwanted string) {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	ln := s.lines[key]
	ln.asking = false
	if place != "" {
		ln.place = place
	}
	if ln.first != nil {
		ln.send()
		return ""
	}
	unwanted, ln.place = ln.place, ""
	s.dropIfEmpty(key, ln)
	return unwanted
}

// stays reports whether the place of a caller that gives up is wanted by somebody in line, and keeps it for them.
func (ls *lines) stays(key, place string) bool {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	ln := s.lines[key]
	if ln.first == nil {
		return false
	}
	ln.place = place
	return true
}

// fail ends the wait of all in line with the error that one of them got for all: the store could not be asked.
func (ls *lines) fail(key string, err error) {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	ln := s.lines[key]
	ln.asking, ln.place, ln.said = false, "", word{}
	for t := ln.first; t != nil; t = ln.first {
		ln.remove(t)
		t.ready <- call{err: err}
	}
	s.dropIfEmpty(key, ln)
}

// told keeps what the store said to the caller who asks.
func (ls *lines) told(key string, w word) {
	s := ls.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ln := s.lines[key]; ln != nil {
		ln.said = w
	}
}

// vacate ends the time of g, which was held here. The next in line asks the store, unless somebody does already. It does
// nothing if another grant has taken its place.
func (ls *lines) vacate(g *grant) {
	s := ls.shard(g.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	ln := s.lines[g.key]
	if ln == nil || ln.held != g {
		return
	}
	ln.held = nil
	if ln.first != nil && !ln.asking {
		ln.send()
	}
	s.dropIfEmpty(g.key, ln)
}

func (s *lineShard) dropIfEmpty(key string, ln *line) {
	if ln.held != nil || ln.asking || ln.first != nil {
		return
	}
	if ln.timer != nil {
		ln.timer.Stop()
	}
	delete(s.lines, key)
}
