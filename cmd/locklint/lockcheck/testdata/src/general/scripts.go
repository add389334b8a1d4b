package general

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Scripts that are found by name in a map, by number in a list, and in a field.

var scripts = map[string]*redis.Script{
	"lock":   redis.NewScript(`return redis.call("SET", KEYS[1], "1", "NX", "PX", ARGV[1])`),
	"unlock": redis.NewScript(`return redis.call("DEL", KEYS[1])`),
}

type Named struct {
	rdb *redis.Client
	key string
}

func (n *Named) Lock(ctx context.Context) error {
	return scripts["lock"].Run(ctx, n.rdb, []string{n.key}, 1000).Err() // want `LL2003: the token that EVAL stores`
}

func (n *Named) Unlock(ctx context.Context) error {
	return scripts["unlock"].Run(ctx, n.rdb, []string{n.key}).Err() // want `LL2002: EVAL releases this lock`
}

const (
	take = iota
	give
)

var texts = []string{
	take: `return redis.call("SET", KEYS[1], "x", "NX", "EX", 5)`,
	give: `return redis.call("DEL", KEYS[1])`,
}

func TryLock(ctx context.Context, rdb *redis.Client, key string) bool {
	got, _ := rdb.Eval(ctx, texts[take], []string{key}).Result() // want `LL2003: the token that EVAL stores`
	return got == "OK"
}

func UnLock(ctx context.Context, rdb *redis.Client, key string) {
	rdb.Eval(ctx, texts[give], []string{key}) // want `LL2002: EVAL releases this lock`
}

type pair struct{ acquire, release *redis.Script }

type Kept struct {
	rdb *redis.Client
	lua pair
}

func NewKept(rdb *redis.Client) *Kept {
	return &Kept{rdb, pair{
		redis.NewScript(`return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2])`),
		redis.NewScript(`return redis.call("DEL", KEYS[1])`),
	}}
}

func (k *Kept) Lock(ctx context.Context, key, token string) error {
	return k.lua.acquire.Run(ctx, k.rdb, []string{key}, token, 5000).Err()
}

func (k *Kept) Unlock(ctx context.Context, key string) error {
	return k.lua.release.Run(ctx, k.rdb, []string{key}).Err() // want `LL2002: EVAL releases this lock`
}
