package etcdstore

import (
	"strconv"
	"strings"
)

// names are what the contenders of a session are called in etcd. A range of keys costs time for each name that was ever
// used in it, until the history is compacted. So a name is used again, but only when its last contender is known to be
// gone and no request may come that would take a later one for it: what ends a contender compares its revision, or has
// its answer.
type names struct {
	series int             // of the names that are given out; a request may still come for those of older ones
	byID   map[string]name // by lease ID
	used   map[numbered]bool
}

// numbered is what two contenders for a lock must not have in common at a time.
type numbered struct {
	key    string
	number int
}

// name is that of one contender, without the session.
type name struct {
	key            string
	series, number int
}

func newNames() names {
	return names{byID: make(map[string]name), used: make(map[numbered]bool)}
}

// of returns the name of a lease's contender for a lock, with the lowest number that nobody has.
func (n *names) of(key, id string) name {
	if known, ok := n.byID[id]; ok && known.key == key {
		return known
	}
	number := 0
	for n.used[numbered{key, number}] {
		number++
	}
	n.used[numbered{key, number}] = true
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
	delete(n.used, numbered{key, given.number})
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

// lockPrefix is what the keys of all contenders for a lock begin with, from one of them.
func lockPrefix(contender string) string { return contender[:strings.LastIndexByte(contender, '/')+1] }

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
