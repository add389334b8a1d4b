package general

import (
	"context"
	"encoding/json"
	"time"

	"github.com/redis/go-redis/v9"
)

// The owner is a part of what GET answers.

type Owned struct{ rdb *redis.Client }

type note struct {
	Owner string
	Since int64
}

func (o *Owned) Lock(ctx context.Context, key, owner string) bool {
	text, _ := json.Marshal(note{owner, 1})
	return o.rdb.SetNX(ctx, key, text, time.Minute).Val()
}

func (o *Owned) Unlock(ctx context.Context, key, owner string) error {
	text, err := o.rdb.Get(ctx, key).Result()
	if err != nil {
		return err
	}
	var n note
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return err
	}
	if n.Owner != owner {
		return errBusy
	}
	return o.rdb.Del(ctx, key).Err() // want `LL2004: DEL comes after the Get`
}

func (o *Owned) load(ctx context.Context, key string) (n note, err error) {
	text, err := o.rdb.Get(ctx, key).Result()
	if err != nil {
		return n, err
	}
	return n, json.Unmarshal([]byte(text), &n)
}

func (o *Owned) Release(ctx context.Context, key, owner string) error {
	n, err := o.load(ctx, key)
	if err != nil || n.Owner != owner {
		return err
	}
	return o.rdb.Del(ctx, key).Err() // want `LL2004: DEL comes after the Get`
}

// A code that is asked for and used up is no lock.

func sendCode(ctx context.Context, rdb *redis.Client, id, code string) bool {
	return rdb.SetNX(ctx, "code:"+id, code, time.Minute).Val()
}

func checkCode(ctx context.Context, rdb *redis.Client, id, code string) bool {
	if rdb.Get(ctx, "code:"+id).Val() != code {
		return false
	}
	rdb.Del(ctx, "code:"+id)
	return true
}
