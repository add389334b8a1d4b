package etcdstore

import "strconv"

// names are what the contenders of a session are called in etcd. A range of keys costs time for each name that was ever
// used in it, until the history is compacted. So a name is used again, but only when its last contender is known to be
// gone and no request may come that would take a later one for it: what ends a contender compares its revision, or has
// its answer.
type names struct {
	series int                     // of the names that are given out; a request may still come for those of older ones
	byID   map[string]name         // by lease ID
	used   map[string]map[int]bool // numbers, by the key of the lock
}

// name is that of one contender, without the session.
type name struct {
	key            string
	series, number int
}

func newNames() names {
	return names{byID: make(map[string]name), used: make(map[string]map[int]bool)}
}

// of returns the name of a lease's contender for a lock, with the lowest number that nobody has.
func (n *names) of(key, id string) name {
	if known, ok := n.byID[id]; ok && known.key == key {
		return known
	}
	used := n.used[key]
	if used == nil {
		used = make(map[int]bool)
		n.used[key] = used
	}
	number := 0
	for used[number] {
		number++
	}
	used[number] = true
	given := name{key, n.series, number}
	n.byID[id] = given
	return given
}

// free gives a name back.
func (n *names) free(key, id string) {
	given, ok := n.byID[id]
	if !ok || given.key != key {
		return
	}
	delete(n.byID, id)
	if used := n.used[key]; len(used) > 1 {
		delete(used, given.number)
	} else {
		delete(n.used, key)
	}
}

// contender returns the key of a lease's contender.
func (s *session) contender(key, id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.contenderLocked(key, id)
}

func (s *session) contenderLocked(key, id string) string {
	given := s.names.of(key, id)
	return s.space.lock(key) + s.id + "." + strconv.Itoa(given.series) + "." + strconv.Itoa(given.number)
}

// gone lets the name of a contender be used again that is no more, or never was.
func (s *session) gone(key, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names.free(key, id)
}

// unsure gives up the name of a contender for which a request may still come. It begins a new series.
func (s *session) unsure(key, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsureLocked(key, id)
}

func (s *session) unsureLocked(key, id string) {
	s.names.series++
	s.names.free(key, id)
}
