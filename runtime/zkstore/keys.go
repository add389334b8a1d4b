package zkstore

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/lockgen/lockgen/internal/percent"
)

// space names the nodes of one namespace. They stand below the store's prefix in ~NAMESPACE:
//
//	b             made once: the time at which that was is added to zxids so that they make epochs
//	s/SESSION     a session of ZooKeeper, with what it is told
//	k/LEASE       that a lock is kept by MinHold, and where
//	l/KEY         a lock, with these children:
//	  LEASE~N     a contender, ephemeral; the oldest of them holds the lock
//	  ~LEASE      the lock is kept by MinHold, without a holder
//
// The escaped form of a key begins with that of each of its prefixes. The mark in front of the namespace keeps spaces
// apart: no name in a prefix begins with it, so that no space lies within another one.
type space struct{ root string }

const spaceMark = "~"

func newSpace(prefix, namespace string) space {
	return space{"/" + prefix + "/" + spaceMark + escape(namespace)}
}

// isMarked reports whether a name in a prefix looks like that of a space.
func isMarked(prefix string) bool { return strings.Contains("/"+prefix, "/"+spaceMark) }

func (s space) base() string                  { return s.root + "/b" }
func (s space) sessions() string              { return s.root + "/s" }
func (s space) session(id int64) string       { return s.root + "/s/" + strconv.FormatUint(uint64(id), 16) }
func (s space) keeps() string                 { return s.root + "/k" }
func (s space) keep(id string) string         { return s.root + "/k/" + escape(id) }
func (s space) locks() string                 { return s.root + "/l" }
func (s space) lock(key string) string        { return s.root + "/l/" + escape(key) }
func (s space) kept(key, id string) string    { return s.lock(key) + "/" + keptMark + escape(id) }
func (s space) newborn(key, id string) string { return s.lock(key) + "/" + escape(id) + numberMark }

// keptMark begins the name of a child that keeps a lock, numberMark stands before the number that ZooKeeper adds to the
// name of a contender. Neither is in an escaped text.
const keptMark, numberMark = "~", "~"

// escape writes bytes so that people can read most of them, as a name that ZooKeeper takes. It works byte by byte.
func escape(s string) string { return plain.Escape(s) }

// plain lacks the dot: a name may not be . or ..
const plain percent.Plain = "-_:@=,;+"

// isPath reports whether ZooKeeper takes a path, which is given without its first slash.
func isPath(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	return !strings.ContainsFunc(path, func(r rune) bool {
		return unicode.IsControl(r) || r == unicode.ReplacementChar || r >= 0xe000 && r <= 0xf8ff || r >= 0xfff0
	})
}
