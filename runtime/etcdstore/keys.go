package etcdstore

import (
	"encoding/hex"
	"fmt"
	"strings"
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
func escape(s string) string {
	odd := 0
	for i := range len(s) {
		if !plain(s[i]) {
			odd++
		}
	}
	if odd == 0 {
		return s
	}
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, len(s)+2*odd)
	for i := range len(s) {
		if c := s[i]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.:@=,;+", c) >= 0
}

func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", fmt.Errorf("%q ends within an escape", s)
		}
		c, err := hex.DecodeString(s[i+1 : i+3])
		if err != nil {
			return "", fmt.Errorf("%q: %w", s, err)
		}
		b.WriteByte(c[0])
		i += 2
	}
	return b.String(), nil
}
