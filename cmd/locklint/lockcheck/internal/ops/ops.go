// Package ops names what Redis commands do to a lock.
package ops

import (
	"strings"
	"time"
)

// An Op is what a Redis command does to a lock.
type Op uint8

const (
	None          Op = iota
	Acquire          // SETNX, SET … NX
	Delete           // DEL, UNLINK, or a script that deletes without comparing
	CompareDel       // deletes only what the caller owns, or a script nobody can read
	Expire           // EXPIRE and its relatives
	CompareExpire    // a script that prolongs only what the caller owns
	Read             // GET: where it precedes a DEL somebody compares the owner
	Swap             // GETSET
	Count            // INCR
	Uncount          // DECR
	Watch            // WATCH
)

// Releases reports whether a command ends a lock.
func (o Op) Releases() bool { return o == Delete || o == CompareDel || o == Uncount }

// UnitOf is the unit of the time to live that a command or an option of SET takes, 0 if it takes a point in time.
func UnitOf(name string) time.Duration {
	switch strings.ToUpper(name) {
	case "EX", "EXPIRE", "SETEX":
		return time.Second
	case "PX", "PEXPIRE", "PSETEX":
		return time.Millisecond
	}
	return 0
}
