package ll2003

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A token that has a default, and that nobody hands over, is the default.

type defaulted struct {
	rdb        *redis.Client
	key, token string
}

func newDefaulted(rdb *redis.Client, key, token string) *defaulted {
	if token == "" {
		token = "taken"
	}
	return &defaulted{rdb: rdb, key: key, token: token}
}

func (d *defaulted) Lock(ctx context.Context) (bool, error) {
	return d.rdb.SetNX(ctx, d.key, d.token, time.Minute).Result() // want `LL2003: the token that SetNX stores is the constant "taken"`
}

func (d *defaulted) Unlock(ctx context.Context) error {
	return d.rdb.Eval(ctx, release, []string{d.key}, d.token).Err()
}

func stock(rdb *redis.Client) *defaulted { return newDefaulted(rdb, "lock:stock", "") }

// A mark that one script sets once and another takes away, after it has looked at other keys, is no lock.

const takeOne = `
if tonumber(redis.call('GET', KEYS[1])) <= 0 then
	return -1
end
redis.call('DECR', KEYS[1])
redis.call('DEL', KEYS[2])
return 1`

const rollback = `
if redis.call('SET', KEYS[2], '1', 'NX', 'EX', tonumber(ARGV[1])) == false then
	return 0
end
redis.call('INCR', KEYS[1])
return 1`

func claimCoupon(ctx context.Context, rdb *redis.Client, user string) error {
	return rdb.Eval(ctx, takeOne, []string{"coupon:stock", "coupon:rollback:" + user}).Err()
}

func rollbackCoupon(ctx context.Context, rdb *redis.Client, user string) error {
	return rdb.Eval(ctx, rollback, []string{"coupon:stock", "coupon:rollback:" + user}, 3600).Err()
}
