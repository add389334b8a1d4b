package ll2003

import (
	"context"
	"encoding/json"
	"time"

	"github.com/redis/go-redis/v9"
)

// A store that encodes what it is given.

type encoder struct{ rdb *redis.Client }

func (e *encoder) SetNX(ctx context.Context, key string, value any, ttl time.Duration) (bool, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return false, err
	}
	return e.rdb.SetNX(ctx, key, string(data), ttl).Result()
}

func (e *encoder) Del(ctx context.Context, key string) error { return e.rdb.Del(ctx, key).Err() }

func encodedConstant(ctx context.Context, e *encoder, id string) error {
	ok, err := e.SetNX(ctx, "lock:encoded:"+id, "held", time.Minute) // want `LL2003: the token that SetNX \(through encoder.SetNX\) stores is a constant`
	if err != nil || !ok {
		return err
	}
	return e.Del(ctx, "lock:encoded:"+id)
}

func encodedToken(ctx context.Context, e *encoder, id string, token func() string) error {
	ok, err := e.SetNX(ctx, "lock:encoded:"+id, token(), time.Minute)
	if err != nil || !ok {
		return err
	}
	return e.Del(ctx, "lock:encoded:"+id)
}
