package ll2004

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

var errBusy = errors.New("busy")

type Lock struct {
	rdb        redis.UniversalClient
	key, token string
}

func (l *Lock) Lock(ctx context.Context) bool {
	return l.rdb.SetNX(ctx, l.key, l.token, time.Minute).Val()
}

func (l *Lock) Unlock(ctx context.Context) error {
	owner, err := l.rdb.Get(ctx, l.key).Result()
	if err != nil {
		return err
	}
	if owner != l.token {
		return errBusy
	}
	return l.rdb.Del(ctx, l.key).Err() // want `LL2004: DEL comes after the Get at line 23 that compares the owner, .* compare and delete in one script`
}

// In one function, in a literal.

func inOne(ctx context.Context, rdb *redis.Client, token string) error {
	if !rdb.SetNX(ctx, "lock:a", token, time.Minute).Val() {
		return errBusy
	}
	defer func() {
		if rdb.Get(ctx, "lock:a").Val() == token {
			rdb.Del(ctx, "lock:a") // want `LL2004: DEL comes after the Get`
		}
	}()
	return nil
}

// A key without the word lock in it: the comparison says enough.

func begin(ctx context.Context, rdb *redis.Client, id, token string) bool {
	return rdb.SetNX(ctx, "import:"+id, token, time.Minute).Val()
}

func finish(ctx context.Context, rdb *redis.Client, id, token string) {
	if rdb.Get(ctx, "import:"+id).Val() == token {
		rdb.Del(ctx, "import:"+id) // want `LL2004: DEL comes after the Get`
	}
}

// Through methods.

func (l *Lock) owner(ctx context.Context) string { return l.rdb.Get(ctx, l.key).Val() }

func (l *Lock) drop(ctx context.Context) { l.rdb.Del(ctx, l.key) }

func (l *Lock) Release(ctx context.Context) {
	if l.owner(ctx) == l.token {
		l.drop(ctx) // want `LL2004: DEL \(through Lock.drop\) comes after the Get`
	}
}

func (l *Lock) Acquire(ctx context.Context) bool { return l.Lock(ctx) }

// WATCH.

func right(ctx context.Context, rdb *redis.Client, token string) error {
	if !rdb.SetNX(ctx, "lock:b", token, time.Minute).Val() {
		return errBusy
	}
	return rdb.Watch(ctx, func(tx *redis.Tx) error {
		if tx.Get(ctx, "lock:b").Val() != token {
			return nil
		}
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Del(ctx, "lock:b")
			return nil
		})
		return err
	}, "lock:b")
}

func outsideMulti(ctx context.Context, rdb *redis.Client, token string) error {
	if !rdb.SetNX(ctx, "lock:c", token, time.Minute).Val() {
		return errBusy
	}
	return rdb.Watch(ctx, func(tx *redis.Tx) error {
		if tx.Get(ctx, "lock:c").Val() != token {
			return nil
		}
		return tx.Del(ctx, "lock:c").Err() // want `LL2004: .*WATCH protects only what runs between MULTI and EXEC`
	}, "lock:c")
}

func watchedTooLate(ctx context.Context, rdb *redis.Client, token string) error {
	if !rdb.SetNX(ctx, "lock:d", token, time.Minute).Val() {
		return errBusy
	}
	if rdb.Get(ctx, "lock:d").Val() != token {
		return nil
	}
	return rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Del(ctx, "lock:d") // want `LL2004: .*WATCH the key before reading it`
			return nil
		})
		return err
	}, "lock:d")
}

func watchesAnother(ctx context.Context, rdb *redis.Client, token string) error {
	if !rdb.SetNX(ctx, "lock:e", token, time.Minute).Val() {
		return errBusy
	}
	return rdb.Watch(ctx, func(tx *redis.Tx) error {
		if tx.Get(ctx, "lock:e").Val() != token {
			return nil
		}
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Del(ctx, "lock:e") // want `LL2004: .*WATCH this key, not another one`
			return nil
		})
		return err
	}, "lock:other")
}

func multiAlone(ctx context.Context, rdb *redis.Client, token string) error {
	if !rdb.SetNX(ctx, "lock:f", token, time.Minute).Val() {
		return errBusy
	}
	if rdb.Get(ctx, "lock:f").Val() == token {
		pipe := rdb.TxPipeline()
		pipe.Del(ctx, "lock:f") // want `LL2004: .*MULTI alone does not notice`
		_, err := pipe.Exec(ctx)
		return err
	}
	return nil
}

// A script.

var unlock = redis.NewScript(`
	local owner = redis.call("get", KEYS[1])
	if owner ~= ARGV[1] then
		return 0
	end
	return redis.call("del", KEYS[1])`)

func script(ctx context.Context, rdb *redis.Client, token string) error {
	if !rdb.SetNX(ctx, "lock:g", token, time.Minute).Val() {
		return errBusy
	}
	return unlock.Run(ctx, rdb, []string{"lock:g"}, token).Err()
}

// No locks: a value that is dropped once it is old, a coupon that is used up.

func dropOld(ctx context.Context, rdb *redis.Client, version string) {
	if rdb.Get(ctx, "page:front").Val() != version {
		rdb.Del(ctx, "page:front")
	}
}

func useUp(ctx context.Context, rdb *redis.Client, code string) bool {
	if rdb.Get(ctx, "captcha:1").Val() != code {
		return false
	}
	return rdb.Del(ctx, "captcha:1").Val() == 1
}
