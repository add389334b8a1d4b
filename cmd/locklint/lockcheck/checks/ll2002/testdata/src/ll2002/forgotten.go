package ll2002

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// losesToken has a careful release, but those who lock forget the token that it asks for.
type losesToken struct{ c *redis.Client }

func newToken() string { return strconv.FormatInt(time.Now().UnixNano(), 36) }

func (s *losesToken) Lock(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	token := newToken()
	return s.c.SetNX(ctx, "forgotten:"+key, token, ttl).Result()
}

func (s *losesToken) Unlock(ctx context.Context, key string) error {
	return s.c.Del(ctx, "forgotten:"+key).Err() // want `LL2002: .*`
}

func (s *losesToken) UnlockWithValue(ctx context.Context, key, token string) error {
	return s.c.Eval(ctx, compareAndDelete, []string{"forgotten:" + key}, token).Err()
}

// handsOut hands the token out.
type handsOut struct{ c *redis.Client }

func (s *handsOut) Lock(ctx context.Context, key string, ttl time.Duration) (string, bool, error) {
	token := newToken()
	got, err := s.c.SetNX(ctx, "known:"+key, token, ttl).Result()
	return token, got, err
}

func (s *handsOut) Unlock(ctx context.Context, key string) error {
	return s.c.Del(ctx, "known:"+key).Err()
}

func (s *handsOut) UnlockWithValue(ctx context.Context, key, token string) error {
	return s.c.Eval(ctx, compareAndDelete, []string{"known:" + key}, token).Err()
}

// sameForAll asks for a token that is the same for all.
type sameForAll struct{ c *redis.Client }

func (o *sameForAll) lock(ctx context.Context, key string) bool {
	got, err := o.c.SetNX(ctx, "lock:"+key, "locked", time.Minute).Result()
	return err == nil && got
}

func (o *sameForAll) release(ctx context.Context, key string) bool {
	if o.c.Get(ctx, "lock:"+key).Val() != "locked" {
		return false
	}
	return o.c.Del(ctx, "lock:"+key).Err() == nil
}

func (o *sameForAll) defersFirst(ctx context.Context, key string) error {
	defer o.release(ctx, key) // want `LL2002: DEL .* also runs when SetNX .* has not got the lock`
	if o.lock(ctx, key) {
		return sell()
	}
	return nil
}
