// Package recipes has the hand-rolled locks of well-known articles, each with all that is wrong with it.
package recipes

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var errBusy = errors.New("busy")

type shop struct{ rdb *redis.ClusterClient }

// SETNX, then EXPIRE.
func (s *shop) setnxExpire(ctx context.Context, key string, work func()) error {
	ok, err := s.rdb.SetNX(ctx, key, "1", 0).Result() // want `LL2005` `LL2003`
	if err != nil || !ok {
		return errBusy
	}
	s.rdb.Expire(ctx, key, 10*time.Second)
	defer s.rdb.Del(ctx, key) // want `LL2002`
	work()
	return nil
}

// INCR, then EXPIRE.
func (s *shop) incrExpire(ctx context.Context, key string, work func()) error {
	n, err := s.rdb.Incr(ctx, key).Result() // want `LL2011: Incr is used as a lock: every loser runs the Expire`
	if err != nil {
		return err
	}
	s.rdb.Expire(ctx, key, 10*time.Second)
	if n > 1 {
		return errBusy
	}
	defer s.rdb.Del(ctx, key)
	work()
	return nil
}

// INCR and EXPIRE in MULTI.
func (s *shop) incrMulti(ctx context.Context, key string, work func()) error {
	var n *redis.IntCmd
	if _, err := s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		n = p.Incr(ctx, key) // want `LL2011: Incr is used as a lock: every loser runs the Expire`
		p.Expire(ctx, key, 10*time.Second)
		return nil
	}); err != nil {
		return err
	}
	if n.Val() != 1 {
		return errBusy
	}
	defer s.rdb.Del(ctx, key)
	work()
	return nil
}

// SETNX with the time as value, GETSET to take over.
func (s *shop) getset(ctx context.Context, key string, ttl time.Duration, work func()) error {
	expires := time.Now().Add(ttl).UnixMilli()
	if !s.rdb.SetNX(ctx, key, expires, 0).Val() {
		old, err := s.rdb.Get(ctx, key).Int64()
		if err != nil || old > time.Now().UnixMilli() {
			return errBusy
		}
		last, err := s.rdb.GetSet(ctx, key, expires).Int64() // want `LL2009`
		if err != nil || last != old {
			return errBusy
		}
	}
	work()
	if now, err := s.rdb.Get(ctx, key).Int64(); err == nil && now == expires {
		s.rdb.Del(ctx, key) // want `LL2004`
	}
	return nil
}

// SET NX EX with a constant value.
func (s *shop) constant(ctx context.Context, key string, work func()) error {
	if !s.rdb.SetNX(ctx, key, "lock", 10*time.Second).Val() { // want `LL2003`
		return errBusy
	}
	defer s.rdb.Del(ctx, key) // want `LL2002`
	work()
	return nil
}

// A token, compared with GET before DEL.
func (s *shop) getThenDel(ctx context.Context, key, token string, work func()) error {
	if !s.rdb.SetNX(ctx, key, token, 10*time.Second).Val() {
		return errBusy
	}
	work()
	if s.rdb.Get(ctx, key).Val() == token {
		s.rdb.Del(ctx, key) // want `LL2004`
	}
	return nil
}

// WATCH and MULTI, done right and done wrong.

func (s *shop) watchRight(ctx context.Context, key, token string, work func()) error {
	if !s.rdb.SetNX(ctx, key, token, 10*time.Second).Val() {
		return errBusy
	}
	work()
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		owner, err := tx.Get(ctx, key).Result()
		if err != nil || owner != token {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Del(ctx, key)
			return nil
		})
		return err
	}, key)
}

func (s *shop) watchWrong(ctx context.Context, key, token string, work func()) error {
	if !s.rdb.SetNX(ctx, key, token, 10*time.Second).Val() {
		return errBusy
	}
	work()
	return s.rdb.Watch(ctx, func(tx *redis.Tx) error {
		owner, err := tx.Get(ctx, key).Result()
		if err != nil || owner != token {
			return err
		}
		return s.rdb.Del(ctx, key).Err() // want `LL2004: .*WATCH protects only`
	}, key)
}

// A script.

var unlock = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
else
    return 0
end`)

func (s *shop) script(ctx context.Context, key, token string, work func()) error {
	if !s.rdb.SetNX(ctx, key, token, 10*time.Second).Val() {
		return errBusy
	}
	defer unlock.Run(ctx, s.rdb, []string{key}, token)
	work()
	return nil
}

// A counter in the memory of the process makes it reentrant: the lock itself is as good as its release.

type reentrant struct {
	rdb   *redis.Client
	mu    sync.Mutex
	count map[string]int
}

func (r *reentrant) Lock(ctx context.Context, key, token string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count[key] > 0 {
		r.count[key]++
		return true
	}
	if !r.rdb.SetNX(ctx, key, token, 10*time.Second).Val() {
		return false
	}
	r.count[key] = 1
	return true
}

func (r *reentrant) Unlock(ctx context.Context, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count[key]--; r.count[key] == 0 {
		r.rdb.Del(ctx, key) // want `LL2002`
	}
}

// The release in defer, whether or not the lock was acquired.

func (s *shop) finally(ctx context.Context, key, token string, work func()) error {
	defer s.rdb.Del(ctx, key) // want `LL2002: DEL also runs when SetNX \(line [0-9]+\) has not got the lock`
	if !s.rdb.SetNX(ctx, key, token, 10*time.Second).Val() {
		return errBusy
	}
	work()
	return nil
}

func (s *shop) finallyLater(ctx context.Context, key, token string, work func()) error {
	ok := s.rdb.SetNX(ctx, key, token, 10*time.Second).Val()
	defer func() {
		s.rdb.Del(ctx, key) // want `LL2002: DEL also runs when SetNX \(line [0-9]+\) has not got the lock`
	}()
	if !ok {
		return errBusy
	}
	work()
	return nil
}

func (s *shop) finallyScript(ctx context.Context, key, token string, work func()) error {
	defer unlock.Run(ctx, s.rdb, []string{key}, token) // deletes nobody else's
	if !s.rdb.SetNX(ctx, key, token, 10*time.Second).Val() {
		return errBusy
	}
	work()
	return nil
}

// Inside a transaction: the lock is over before the commit.

type db interface {
	Transaction(fn func(tx db) error) error
}

func (s *shop) transactional(ctx context.Context, d db, key, token string, work func(db) error) error {
	return d.Transaction(func(tx db) error {
		if !s.rdb.SetNX(ctx, key, token, 10*time.Second).Val() {
			return errBusy
		}
		defer s.rdb.Del(ctx, key) // want `LL2002`
		return work(tx)
	})
}

// Retries: spinning, yielding, sleeping, sleeping by chance, recursion.

func (s *shop) spin(ctx context.Context, key, token string) {
	for !s.rdb.SetNX(ctx, key, token, 10*time.Second).Val() { // want `LL2010`
	}
	defer unlock.Run(ctx, s.rdb, []string{key}, token)
}

func (s *shop) yield(ctx context.Context, key, token string) {
	for !s.rdb.SetNX(ctx, key, token, 10*time.Second).Val() { // want `LL2010`
		runtime.Gosched()
	}
	defer unlock.Run(ctx, s.rdb, []string{key}, token)
}

func (s *shop) sleep(ctx context.Context, key, token string) {
	for !s.rdb.SetNX(ctx, key, token, 10*time.Second).Val() {
		time.Sleep(200 * time.Millisecond)
	}
	defer unlock.Run(ctx, s.rdb, []string{key}, token)
}

func (s *shop) sleepByChance(ctx context.Context, key, token string) {
	for !s.rdb.SetNX(ctx, key, token, 10*time.Second).Val() {
		time.Sleep(rand.N(200 * time.Millisecond))
	}
	defer unlock.Run(ctx, s.rdb, []string{key}, token)
}
