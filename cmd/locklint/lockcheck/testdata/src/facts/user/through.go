package user

import (
	"context"
	"time"

	"facts/store"
	"github.com/redis/go-redis/v9"
)

// A lock on top of a data layer: each fault is reported once, in the function that is closest to the layer.

func handle(ctx context.Context, rdb *redis.Client, id string, work func()) error {
	if err := lock(ctx, rdb, keyOf(id)); err != nil {
		return err
	}
	defer func() { _ = unlock(ctx, rdb, keyOf(id)) }()
	work()
	return nil
}

func keyOf(id string) string { return "check_lock_" + id }

func lock(ctx context.Context, rdb *redis.Client, key string) error {
	_, err := store.SetIfAbsent(ctx, rdb, key, "1", 5*time.Minute) // want `LL2001: the outcome of SetNX \(through SetIfAbsent\) is ignored, only the error is looked at` `LL2003`
	return err
}

func unlock(ctx context.Context, rdb *redis.Client, key string) error {
	return store.Delete(ctx, rdb, key) // want `LL2002: DEL \(through Delete\) releases this lock`
}

// A lock of the leader, through helpers that put their keys together.

type cluster struct {
	rdb *redis.Client
	id  string
}

func (c *cluster) lockMaster(ctx context.Context) (bool, error) {
	return store.PutKey(ctx, c.rdb, "master-lock", c.id)
}

func (c *cluster) run(ctx context.Context) {
	if ok, err := c.lockMaster(ctx); err == nil && ok {
		c.updateMaster(ctx)
	}
}

func (c *cluster) updateMaster(ctx context.Context) {
	store.ExpireKey(ctx, c.rdb, "master-lock") // want `LL2008: Expire \(through ExpireKey\) prolongs this lock .* if the SetNX at line 41 has expired`
}

func always(ctx context.Context, rdb *redis.Client, id, token string, work func()) {
	_, _ = store.PutAlways(ctx, rdb, "always_lock_"+id, token)
	work()
	_ = store.Delete(ctx, rdb, "always_lock_"+id) // want `LL2002`
}

func keepsAlive(ctx context.Context, s *store.Store, work func()) {
	if !s.Lock(ctx, "alive") {
		return
	}
	defer s.Unlock(ctx, "alive")
	go func() {
		for ; ; time.Sleep(time.Second) {
			s.KeepAlive(ctx, "alive")
		}
	}()
	work()
}
