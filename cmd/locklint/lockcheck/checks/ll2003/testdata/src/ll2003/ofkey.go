package ll2003

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Values that differ from lock to lock, but not from one holder of a lock to the next.

type checkouts struct{ rdb *redis.Client }

func (c *checkouts) ofUser(ctx context.Context, userID string) error {
	key := "checkout:lock:" + userID
	if !c.rdb.SetNX(ctx, key, userID, time.Minute).Val() { // want `LL2003: the token that SetNX stores is made of nothing but what the key is made of`
		return nil
	}
	defer c.rdb.Eval(ctx, compareAndDelete, []string{key}, userID)
	return processWork()
}

func (c *checkouts) ofNumber(ctx context.Context, order int64) error {
	key := fmt.Sprintf("checkout:lock:%d", order)
	token := "order-" + strconv.FormatInt(order, 10)
	if !c.rdb.SetNX(ctx, key, token, time.Minute).Val() { // want `LL2003: the token that SetNX stores is made of nothing but what the key is made of`
		return nil
	}
	defer c.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

func jobKey(job string) string { return "lock:job:" + job }

func (c *checkouts) throughFunction(ctx context.Context, job string) error {
	if !c.rdb.SetNX(ctx, jobKey(job), job, time.Minute).Val() { // want `LL2003: the token that SetNX stores is made of nothing but what the key is made of`
		return nil
	}
	defer c.rdb.Eval(ctx, compareAndDelete, []string{jobKey(job)}, job)
	return processWork()
}

func (c *checkouts) andSeconds(ctx context.Context, order string) error {
	key := "lock:" + order
	token := fmt.Sprintf("%s-%d", order, time.Now().Unix())
	if !c.rdb.SetNX(ctx, key, token, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the time in seconds`
		return nil
	}
	defer c.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

func (c *checkouts) userElsewhere(ctx context.Context, item, userID string) error {
	key := "lock:item:" + item
	if !c.rdb.SetNX(ctx, key, userID, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the ID of a user`
		return nil
	}
	defer c.rdb.Eval(ctx, compareAndDelete, []string{key}, userID)
	return processWork()
}

type buyRequest struct{ UserID, Nonce string }

func (c *checkouts) userOfRequest(ctx context.Context, item string, req *buyRequest) error {
	key, token := "lock:item:"+item, "buy:"+req.UserID
	if !c.rdb.SetNX(ctx, key, token, time.Minute).Val() { // want `LL2003: the token that SetNX stores is the ID of a user`
		return nil
	}
	defer c.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

// Fine.

func (c *checkouts) userAndRandom(ctx context.Context, userID string) error {
	key, token := "lock:"+userID, userID+":"+rand.Text()
	if !c.rdb.SetNX(ctx, key, token, time.Minute).Val() {
		return nil
	}
	defer c.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

func (c *checkouts) ofCall(ctx context.Context, item string, req *buyRequest) error {
	key, token := "lock:"+req.UserID, req.UserID+req.Nonce
	if !c.rdb.SetNX(ctx, key, token, time.Minute).Val() {
		return nil
	}
	defer c.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

// Holding a seat belongs to the user: whoever asks again has it still.
func (c *checkouts) HoldLock(ctx context.Context, seat, userID string) (bool, error) {
	return c.rdb.SetNX(ctx, "lock:seat:"+seat, userID, time.Minute).Result()
}

func (c *checkouts) UnholdLock(ctx context.Context, seat, userID string) error {
	return c.rdb.Eval(ctx, compareAndDelete, []string{"lock:seat:" + seat}, userID).Err()
}

// The key says less than the value.
func shardKey(n int) string { return "lock:shard:" + strconv.Itoa(n%16) }

func (c *checkouts) ofShard(ctx context.Context, n int) error {
	token := strconv.Itoa(n)
	key := "lock:" + strconv.Itoa(n%16)
	if !c.rdb.SetNX(ctx, key, token, time.Minute).Val() {
		return nil
	}
	defer c.rdb.Eval(ctx, compareAndDelete, []string{key}, token)
	return processWork()
}

// What a process is called, from its configuration.

type lockConfig struct {
	InstanceID string
	Token      string
}

type configured struct {
	rdb *redis.Client
	cfg lockConfig
}

func (c *configured) Lock(ctx context.Context, key string) bool {
	return c.rdb.SetNX(ctx, "lock:"+key, c.cfg.InstanceID, time.Minute).Val() // want `LL2003: the token that SetNX stores is what the process is called`
}

func (c *configured) Unlock(ctx context.Context, key string) error {
	return c.rdb.Eval(ctx, compareAndDelete, []string{"lock:" + key}, c.cfg.InstanceID).Err()
}

type configuredToken struct {
	rdb *redis.Client
	cfg lockConfig
}

func (c *configuredToken) Lock(ctx context.Context, key string) bool {
	return c.rdb.SetNX(ctx, "lock:"+key, c.cfg.Token, time.Minute).Val()
}

func (c *configuredToken) Unlock(ctx context.Context, key string) error {
	return c.rdb.Eval(ctx, compareAndDelete, []string{"lock:" + key}, c.cfg.Token).Err()
}

// One lock, which the process takes once.
func (c *configured) only(ctx context.Context) error {
	if !c.rdb.SetNX(ctx, "lock:only", c.cfg.InstanceID, time.Minute).Val() {
		return nil
	}
	defer c.rdb.Eval(ctx, compareAndDelete, []string{"lock:only"}, c.cfg.InstanceID)
	return processWork()
}
