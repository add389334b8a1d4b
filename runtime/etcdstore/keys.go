package etcdstore

import (
	"strings"

	"github.com/lockgen/lockgen/internal/percent"
)

// space names the keys of one namespace in etcd. They begin with the store's prefix and ~NAMESPACE/, and then:
//
//	b               what is added to revisions so that they make epochs
//	s/SESSION       the session's generation
//	l/KEY/NAME      a contender for a lock; the oldest of them holds it
//	t/SESSION/LEASE that a lease of the session was broken; with /recall behind it, that somebody waits behind it
//
// A key of a lock has no slash in its escaped form, and its escaped form begins with that of each of its prefixes. The
// mark in front of the namespace keeps spaces apart: no part of a prefix begins with it, so that no space lies within
// another one.
type space struct{ root string }

const spaceMark = "~"

func newSpace(prefix, namespace string) space {
	return space{prefix + spaceMark + escape(namespace) + "/"}
}

// isMarked reports whether a part of a prefix looks like the name of a space.
func isMarked(prefix string) bool { return strings.Contains("/"+prefix, "/"+spaceMark) }

func (s space) base() string                     { return s.root + "b" }
func (s space) generation(session string) string { return s.root + "s/" + session }
func (s space) locks(prefix string) string       { return s.root + "l/" + escape(prefix) }
func (s space) lock(key string) string           { return s.locks(key) + "/" }
func (s space) tolds(session string) string      { return s.root + "t/" + session + "/" }
func (s space) told(session, id string) string   { return s.tolds(session) + escape(id) }

// lockOf returns the escaped key of the lock that a contender is for.
func (s space) lockOf(contender string) (lock string, ok bool) {
	rest, ok := strings.CutPrefix(contender, s.root+"l/")
	if !ok {
		return "", false
	}
	lock, _, ok = strings.Cut(rest, "/")
	return lock, ok
}

// escape writes bytes so that people can read most of them, without a slash. It works byte by byte.
func escape(s string) string { return plain.Escape(s) }

const plain percent.Plain = "-_.:@=,;+"
