package ll2004

import (
	"context"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"
)

// Marks of who holds something, which nobody sets or deletes without a lock that is there for them all.

type register struct {
	rdb *redis.Client
	rs  *redsync.Redsync
}

func (g *register) Lock(ctx context.Context, name, owner string) (ok bool, err error) {
	all := g.rs.NewMutex("register")
	if err := all.Lock(); err != nil {
		return false, err
	}
	defer func() { _, err = all.Unlock() }()
	return g.set(ctx, name, owner)
}

func (g *register) set(ctx context.Context, name, owner string) (bool, error) {
	return g.rdb.SetNX(ctx, "held:"+name, owner, time.Hour).Result()
}

func (g *register) Unlock(ctx context.Context, name, owner string) (err error) {
	all := g.rs.NewMutex("register")
	if err := all.Lock(); err != nil {
		return err
	}
	defer func() { _, err = all.Unlock() }()
	if has, err := g.rdb.Get(ctx, "held:"+name).Result(); err != nil || has != owner {
		return errBusy
	}
	return g.rdb.Del(ctx, "held:"+name).Err()
}

// halfRegister sets its marks without that lock.
type halfRegister struct {
	rdb *redis.Client
	rs  *redsync.Redsync
}

func (g *halfRegister) Lock(ctx context.Context, name, owner string) (bool, error) {
	return g.rdb.SetNX(ctx, "half:"+name, owner, time.Hour).Result()
}

func (g *halfRegister) Unlock(ctx context.Context, name, owner string) (err error) {
	all := g.rs.NewMutex("register")
	if err := all.Lock(); err != nil {
		return err
	}
	defer func() { _, err = all.Unlock() }()
	if has, err := g.rdb.Get(ctx, "half:"+name).Result(); err != nil || has != owner {
		return errBusy
	}
	return g.rdb.Del(ctx, "half:"+name).Err() // want `LL2004: DEL comes after the Get`
}

// lateRegister has given that lock back before it deletes.
type lateRegister struct {
	rdb *redis.Client
	rs  *redsync.Redsync
}

func (g *lateRegister) Lock(ctx context.Context, name, owner string) (ok bool, err error) {
	all := g.rs.NewMutex("register")
	if err := all.Lock(); err != nil {
		return false, err
	}
	defer all.Unlock()
	return g.rdb.SetNX(ctx, "late:"+name, owner, time.Hour).Result()
}

func (g *lateRegister) Unlock(ctx context.Context, name, owner string) error {
	all := g.rs.NewMutex("register")
	if err := all.Lock(); err != nil {
		return err
	}
	has, err := g.rdb.Get(ctx, "late:"+name).Result()
	all.Unlock()
	if err != nil || has != owner {
		return errBusy
	}
	return g.rdb.Del(ctx, "late:"+name).Err() // want `LL2004: DEL comes after the Get`
}
