package ll2008

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Nobody releases these: who has got them prolongs them until it ends.

func claim(ctx context.Context, rdb *redis.Client, id string, token string, done chan int) {
	owner := false
	for {
		if !owner {
			owner = rdb.SetNX(ctx, "flight-lock:"+id, token, time.Minute).Val()
		} else {
			rdb.Expire(ctx, "flight-lock:"+id, time.Minute) // want `LL2008: Expire prolongs this lock without asking whose it is: if the SetNX at line 16 has expired`
		}
		select {
		case <-done:
			return
		case <-time.After(time.Second):
		}
	}
}

type cluster struct {
	rdb *redis.Client
	id  string
}

func (c *cluster) tryMaster(ctx context.Context) bool {
	return c.rdb.SetNX(ctx, "master-lock", c.id, time.Minute).Val()
}

func (c *cluster) stayMaster(ctx context.Context) error {
	return c.rdb.Expire(ctx, "master-lock", time.Minute).Err() // want `LL2008: Expire prolongs this lock .* if the SetNX at line 34 has expired`
}

func elect(ctx context.Context, rdb *redis.Client, id string) bool {
	return rdb.SetNX(ctx, "election-lock", id, time.Minute).Val()
}

func keepAlive(ctx context.Context, rdb *redis.Client) {
	rdb.Expire(ctx, "election-lock", time.Minute) // want `LL2008: Expire prolongs this lock`
}

// Fine.

type careful struct {
	rdb *redis.Client
	id  string
}

func (c *careful) tryMaster(ctx context.Context) bool {
	return c.rdb.SetNX(ctx, "careful-lock", c.id, time.Minute).Val()
}

func (c *careful) stayMaster(ctx context.Context) {
	if c.rdb.Get(ctx, "careful-lock").Val() == c.id {
		c.rdb.Expire(ctx, "careful-lock", time.Minute)
	}
}

type presence struct{ rdb *redis.Client }

func (p *presence) online(ctx context.Context, id string) {
	p.rdb.SetNX(ctx, "online:"+id, 1, time.Minute)
}

func (p *presence) keepAlive(ctx context.Context, id string) {
	p.rdb.Expire(ctx, "online:"+id, time.Minute)
}

func elsewhere(ctx context.Context, rdb *redis.Client, id string) bool {
	return rdb.SetNX(ctx, "elsewhere-lock", id, time.Minute).Val()
}

func longer(ctx context.Context, rdb *redis.Client) { rdb.Expire(ctx, "elsewhere-lock", time.Hour) } // who knows what for

func secondStep(ctx context.Context, rdb *redis.Client, id string) {
	if rdb.SetNX(ctx, "second-lock", id, time.Minute).Val() {
		rdb.Expire(ctx, "second-lock", time.Hour)
	}
}

// Its only expiry: nothing that it had before is prolonged.

type late struct{ rdb *redis.Client }

func (l *late) Lock(ctx context.Context, id string) bool {
	return l.rdb.SetNX(ctx, "late-lock:"+id, 1, 0).Val()
}

func (l *late) Refresh(ctx context.Context, id string) {
	l.rdb.Expire(ctx, "late-lock:"+id, time.Minute)
}

func (l *late) Unlock(ctx context.Context, id string) { l.rdb.Del(ctx, "late-lock:"+id) }

// The owner is asked for through a helper, and named by methods.

type owned interface {
	Name() string
	Token() string
}

type asking struct{ rdb *redis.Client }

func (a *asking) Lock(ctx context.Context, name, token string) bool {
	return a.rdb.SetNX(ctx, name, token, time.Minute).Val()
}

func (a *asking) owner(ctx context.Context, name string) owned {
	return decode(a.rdb.Get(ctx, name).Val())
}

func decode(string) owned { return nil }

func (a *asking) Refresh(ctx context.Context, o owned) {
	if a.owner(ctx, o.Name()).Token() == o.Token() {
		a.rdb.Expire(ctx, o.Name(), time.Minute)
	}
}

func (a *asking) Unlock(ctx context.Context, o owned) {
	if a.owner(ctx, o.Name()).Token() == o.Token() {
		a.rdb.Del(ctx, o.Name())
	}
}
