package redisstore

import (
	"strings"

	"github.com/lockgen/lockgen/internal/redistag"
)

// lockKeys are the four Redis keys of one lock. Their common part stands in braces, so that Redis Cluster puts them
// into one slot, and is encoded so that a lock's name can neither end those braces early nor be mistaken for another's:
//
//	lock:{order:42}  lock:{order:42}:queue  lock:{order:42}:waiters  lock:{order:42}:floor
type lockKeys struct{ lock, queue, waiters, floor string }

func (k lockKeys) all() []string { return []string{k.lock, k.queue, k.waiters, k.floor} }

// keySpace builds the keys of one namespace. It is the only place that does. Names are never empty, so no hash tag is.
type keySpace struct{ prefix string }

func newKeySpace(namespace string) keySpace { return keySpace{redistag.Encode(namespace) + ":{"} }

func (s keySpace) lock(name string) string { return s.prefix + redistag.Encode(name) + "}" }

func (s keySpace) keys(name string) lockKeys {
	lock := s.lock(name)
	all := lock + queueSuffix + lock + waitersSuffix + lock + floorSuffix // one allocation for all
	queue := len(lock) + len(queueSuffix)
	waiters := queue + len(lock) + len(waitersSuffix)
	return lockKeys{lock: lock, queue: all[:queue], waiters: all[queue:waiters], floor: all[waiters:]}
}

const (
	queueSuffix   = ":queue"
	waitersSuffix = ":waiters"
	floorSuffix   = ":floor"
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
