package redisstore

import (
	"strings"

	"github.com/lockgen/lockgen/internal/redistag"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// lockKeys are the Redis keys of one lock, and what a request adds to its id there, see kindOf. Their common part stands
// in braces, so that Redis Cluster puts them into one slot, and is encoded so that a lock's name can neither end those
// braces early nor be mistaken for another's:
//
//	lock:{order:42}  lock:{order:42}:queue  lock:{order:42}:waiters  lock:{order:42}:floor
//
// Where readers or permits share it, there are two more:
//
//	lock:{order:42}:holders  lock:{order:42}:held
type lockKeys struct{ lock, queue, waiters, floor, kind string }

// alone are the keys that exclusive leases need.
func (k lockKeys) alone() []string { return []string{k.lock, k.queue, k.waiters, k.floor} }

func (k lockKeys) all() []string { return append(k.alone(), k.holders(), k.held()) }

func (k lockKeys) holders() string { return k.lock + holdersSuffix }

func (k lockKeys) held() string { return k.lock + heldSuffix }

func (k lockKeys) of(mode lockrt.Mode, permits int) lockKeys {
	k.kind = kindOf(mode, permits)
	return k
}

// keySpace builds the keys of one namespace. It is the only place that does. Names are never empty, so no hash tag is.
type keySpace struct{ prefix string }

func newKeySpace(namespace string) keySpace { return keySpace{redistag.Encode(namespace) + ":{"} }

func (s keySpace) lock(name string) string { return s.prefix + redistag.Encode(name) + "}" }

func (s keySpace) keys(name string) lockKeys {
	lock := s.lock(name)
	all := lock + queueSuffix + lock + waitersSuffix + lock + floorSuffix // the four keys share one allocation
	queue := len(lock) + len(queueSuffix)
	waiters := queue + len(lock) + len(waitersSuffix)
	return lockKeys{lock: lock, queue: all[:queue], waiters: all[queue:waiters], floor: all[waiters:]}
}

const (
	queueSuffix   = ":queue"
	waitersSuffix = ":waiters"
	floorSuffix   = ":floor"
	holdersSuffix = ":holders"
	heldSuffix    = ":held"
)

// name is the inverse of lock. It reports false for keys of other kinds.
func (s keySpace) name(lock string) (string, bool) {
	name, ok := strings.CutPrefix(lock, s.prefix)
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, "}")
	return redistag.Decode(name), ok && !strings.Contains(name, "}")
}

// pattern matches all lock keys whose name begins with prefix, and perhaps others.
func (s keySpace) pattern(prefix string) string {
	return globEscape.Replace(s.prefix+redistag.Encode(prefix)) + "*}"
}

var globEscape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`)
