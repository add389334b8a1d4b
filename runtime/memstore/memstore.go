// Package memstore keeps locks in the memory of this process.
//
// It is the embedded default: for development, tests (it runs under testing/synctest), single-process programs, and as
// the model that other stores are compared with. Lockers that share one Store exclude each other; another process
// does not see it, and everything is forgotten when the process ends.
//
// Importing the package registers two kinds of URL for lockrt.Open: "memory:" is a new store for this Locker alone,
// "memory:NAME" one that all Lockers of the process which name it share.
package memstore

import (
	"context"
	"strings"
	"sync"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Store implements lockrt.Store. The zero value is not usable; see [New].
type Store struct {
	mu     sync.Mutex // guards everything below and in the locks and waiters
	locks  map[name]*lock
	epoch  uint64
	sweep  int // number of locks at which those that ran out without anybody noticing are looked for
	values map[any]any

	recalls []recall // what sessions are to be told by unlock
}

// recall tells a session that somebody waits behind a reader's lease.
type recall struct {
	tell func(id string)
	id   string
}

// unlock unlocks the mutex, and then tells sessions what they have to know: they call back.
func (s *Store) unlock() {
	if s.recalls == nil {
		s.mu.Unlock()
		return
	}
	recalls := s.recalls
	s.recalls = nil
	s.mu.Unlock()
	for _, r := range recalls {
		r.tell(r.id)
	}
}

// name is a key within its namespace.
type name struct{ namespace, key string }

var _ lockrt.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	return &Store{locks: make(map[name]*lock), sweep: minSweep, values: make(map[any]any)}
}

var named = struct {
	sync.Mutex
	stores map[string]*Store
}{stores: make(map[string]*Store)}

func init() {
	lockrt.Register("memory", func(_ context.Context, url string) (lockrt.Store, error) {
		_, id, _ := strings.Cut(url, ":")
		if id == "" {
			return New(), nil
		}
		named.Lock()
		defer named.Unlock()
		if named.stores[id] == nil {
			named.stores[id] = New()
		}
		return named.stores[id], nil
	})
}

// Open implements lockrt.Store.
func (s *Store) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	return &session{store: s, cfg: cfg, closed: make(chan struct{}), places: make(map[string]string)}, nil
}

// Value returns the value of key, which mk makes at the first call. It lets packages that build on locks keep state
// that has exactly the same users as the locks, as package jobs does. mk must not call the store.
func (s *Store) Value(key any, mk func() any) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[key]
	if !ok {
		v = mk()
		s.values[key] = v
	}
	return v
}

// minSweep is the number of locks below which no sweep is worth its time.
const minSweep = 1024

// lockOn returns the lock on n, a new one if there is none.
func (s *Store) lockOn(n name, now time.Time) *lock {
	if l := s.locks[n]; l != nil {
		return l
	}
	// A lease that ran out with nobody waiting has no timer; its lock is dropped here. Doubling makes that free.
	if len(s.locks) >= s.sweep {
		for other, l := range s.locks {
			if l.queue.len() == 0 && !l.held(now) {
				delete(s.locks, other)
			}
		}
		s.sweep = max(minSweep, 2*len(s.locks))
	}
	l := &lock{store: s, name: n}
	s.locks[n] = l
	return l
}

// nextEpoch follows the rule of the Redis protocol, the greater of the last epoch + 1 and the time in microseconds, with
// one counter for all keys: nothing has to be remembered about a key that is free.
func (s *Store) nextEpoch(now time.Time) uint64 {
	s.epoch = max(s.epoch+1, uint64(now.UnixMicro()))
	return s.epoch
}
