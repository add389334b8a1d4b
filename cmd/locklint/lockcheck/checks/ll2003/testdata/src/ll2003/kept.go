package ll2003

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// An object for one lock that is kept is the same object, with the same token, for the next one who asks.

type tableLock struct {
	rdb        *redis.Client
	key, token string
}

func (l *tableLock) Lock(ctx context.Context) bool {
	return l.rdb.SetNX(ctx, l.key, l.token, time.Minute).Val() // want `LL2003: the token that SetNX stores is that of an object which is kept and handed out`
}

func (l *tableLock) Unlock(ctx context.Context) error {
	return l.rdb.Eval(ctx, compareAndDel, []string{l.key}, l.token).Err()
}

type tables struct {
	mu    sync.Mutex
	rdb   *redis.Client
	locks map[string]*tableLock
}

func (t *tables) of(key string) *tableLock {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l, ok := t.locks[key]; ok {
		return l
	}
	l := &tableLock{t.rdb, key, rand.Text()}
	t.locks[key] = l
	return l
}

// Fine: an object for each time that the lock is taken, kept for the release.

type benchLock struct {
	rdb        *redis.Client
	key, token string
}

func (l *benchLock) Lock(ctx context.Context) bool {
	return l.rdb.SetNX(ctx, l.key, l.token, time.Minute).Val()
}

func (l *benchLock) Unlock(ctx context.Context) error {
	return l.rdb.Eval(ctx, compareAndDel, []string{l.key}, l.token).Err()
}

type benches struct {
	rdb  *redis.Client
	held map[string]*benchLock
}

func (b *benches) sit(ctx context.Context, key string) *benchLock {
	if l, ok := b.held[key]; ok {
		return l
	}
	l := &benchLock{b.rdb, key, rand.Text()}
	if !l.Lock(ctx) {
		return nil
	}
	b.held[key] = l
	return l
}

func (b *benches) rise(ctx context.Context, key string) {
	if l := b.held[key]; l != nil {
		l.Unlock(ctx)
		delete(b.held, key)
	}
}
