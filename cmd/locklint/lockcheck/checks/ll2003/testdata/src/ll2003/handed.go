package ll2003

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A token that every constructor hands over is as constant as one that stands in the command.

const release = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

type handed struct {
	rdb        *redis.Client
	key, token string
}

func newHanded(rdb *redis.Client, key, token string) *handed {
	return &handed{rdb: rdb, key: key, token: token}
}

func (h *handed) Lock(ctx context.Context) (bool, error) {
	return h.rdb.SetNX(ctx, h.key, h.token, time.Minute).Result() // want `LL2003: the token that SetNX stores is the constant "locked"`
}

func (h *handed) Unlock(ctx context.Context) error {
	return h.rdb.Eval(ctx, release, []string{h.key}, h.token).Err()
}

func orders(rdb *redis.Client) *handed { return newHanded(rdb, "lock:orders", "locked") }
func bills(rdb *redis.Client) *handed  { return newHanded(rdb, "lock:bills", "locked") }

// This one gets its own.

type random struct {
	rdb        *redis.Client
	key, token string
}

func newRandom(rdb *redis.Client, key, token string) *random {
	return &random{rdb: rdb, key: key, token: token}
}

func (h *random) Lock(ctx context.Context) (bool, error) {
	return h.rdb.SetNX(ctx, h.key, h.token, time.Minute).Result()
}

func (h *random) Unlock(ctx context.Context) error {
	return h.rdb.Eval(ctx, release, []string{h.key}, h.token).Err()
}

func ordersRandom(rdb *redis.Client, token string) *random { return newRandom(rdb, "lock:o", token) }
func billsConstant(rdb *redis.Client) *random              { return newRandom(rdb, "lock:b", "x") }
