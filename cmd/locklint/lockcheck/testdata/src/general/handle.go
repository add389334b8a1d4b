package general

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A handle that a function of its own makes, and that ends with Close.

type Locker struct{ rdb redis.UniversalClient }

type Handle struct {
	locker *Locker
	key    string
}

func newHandle(l *Locker, key string) *Handle { return &Handle{locker: l, key: key} }

func (l *Locker) Obtain(ctx context.Context, name string, ttl time.Duration) (*Handle, error) {
	ok, err := l.rdb.SetNX(ctx, name, "locked", ttl).Result() // want `LL2003: the token that SetNX stores`
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errBusy
	}
	return newHandle(l, name), nil
}

func (h *Handle) Close(ctx context.Context) error {
	return h.locker.rdb.Del(ctx, h.key).Err() // want `LL2002: DEL releases this lock`
}
