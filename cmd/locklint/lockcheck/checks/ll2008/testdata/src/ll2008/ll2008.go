package ll2008

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

var errBusy = errors.New("busy")

const unlock = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

// A goroutine beside the work.

func watchdog(ctx context.Context, rdb *redis.Client, token string, work func()) error {
	if !rdb.SetNX(ctx, "lock:a", token, 10*time.Second).Val() {
		return errBusy
	}
	defer rdb.Eval(ctx, unlock, []string{"lock:a"}, token)
	done := make(chan struct{})
	defer close(done)
	go func() {
		tick := time.NewTicker(3 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				rdb.Expire(ctx, "lock:a", 10*time.Second) // want `LL2008: Expire prolongs this lock without asking whose it is: if the SetNX at line 18 has expired`
			case <-done:
				return
			}
		}
	}()
	work()
	return nil
}

// Between the steps of the work.

func steps(ctx context.Context, rdb *redis.Client, token string, work []func()) error {
	if !rdb.SetNX(ctx, "lock:b", token, 10*time.Second).Val() {
		return errBusy
	}
	defer rdb.Eval(ctx, unlock, []string{"lock:b"}, token)
	for _, step := range work {
		step()
		rdb.PExpire(ctx, "lock:b", 10*time.Second) // want `LL2008: PExpire prolongs this lock`
	}
	return nil
}

// Methods of one type.

type Lock struct {
	rdb        *redis.Client
	key, token string
}

func (l *Lock) TryLock(ctx context.Context) bool {
	return l.rdb.SetNX(ctx, l.key, l.token, time.Minute).Val()
}

func (l *Lock) Unlock(ctx context.Context) { l.rdb.Eval(ctx, unlock, []string{l.key}, l.token) }

func (l *Lock) Refresh(ctx context.Context) error {
	return l.rdb.Expire(ctx, l.key, time.Minute).Err() // want `LL2008: Expire prolongs this lock`
}

// A script that does not compare.

type Other struct {
	rdb        *redis.Client
	key, token string
}

func (o *Other) Lock(ctx context.Context) bool {
	return o.rdb.SetNX(ctx, o.key, o.token, time.Minute).Val()
}

func (o *Other) Unlock(ctx context.Context) { o.rdb.Eval(ctx, unlock, []string{o.key}, o.token) }

func (o *Other) Extend(ctx context.Context) {
	o.rdb.Eval(ctx, `if redis.call("EXISTS", KEYS[1]) == 1 then return redis.call("EXPIRE", KEYS[1], 60) end`, []string{o.key}) // want `LL2008: EVAL prolongs this lock`
}

// Compared: in a script, with GET, in WATCH.

type Careful struct {
	rdb        *redis.Client
	key, token string
}

func (c *Careful) Lock(ctx context.Context) bool {
	return c.rdb.SetNX(ctx, c.key, c.token, time.Minute).Val()
}

func (c *Careful) Unlock(ctx context.Context) { c.rdb.Eval(ctx, unlock, []string{c.key}, c.token) }

func (c *Careful) Renew(ctx context.Context) {
	c.rdb.Eval(ctx, `
		if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
		return redis.call("PEXPIRE", KEYS[1], ARGV[2])`, []string{c.key}, c.token, 60000)
}

type Polite struct {
	rdb        *redis.Client
	key, token string
}

func (p *Polite) Lock(ctx context.Context) bool {
	return p.rdb.SetNX(ctx, p.key, p.token, time.Minute).Val()
}

func (p *Polite) Unlock(ctx context.Context) { p.rdb.Eval(ctx, unlock, []string{p.key}, p.token) }

func (p *Polite) Renew(ctx context.Context) {
	if p.rdb.Get(ctx, p.key).Val() == p.token {
		p.rdb.Expire(ctx, p.key, time.Minute)
	}
}

// The second step of an acquire, another key, a key that is no lock.

func twoSteps(ctx context.Context, rdb *redis.Client) error {
	if !rdb.SetNX(ctx, "lock:c", 1, 0).Val() {
		return errBusy
	}
	rdb.Expire(ctx, "lock:c", time.Minute)
	defer rdb.Del(ctx, "lock:c")
	return nil
}

func session(ctx context.Context, rdb *redis.Client, token string, ids []string) error {
	if !rdb.SetNX(ctx, "lock:d", token, time.Minute).Val() {
		return errBusy
	}
	defer rdb.Eval(ctx, unlock, []string{"lock:d"}, token)
	for _, id := range ids {
		rdb.Expire(ctx, "session:"+id, time.Hour)
	}
	return nil
}

type Sessions struct{ rdb *redis.Client }

func (s *Sessions) Create(ctx context.Context, id string) bool {
	return s.rdb.SetNX(ctx, "session:"+id, 1, time.Hour).Val()
}

func (s *Sessions) Refresh(ctx context.Context, id string) {
	s.rdb.Expire(ctx, "session:"+id, time.Hour)
}

func (s *Sessions) Drop(ctx context.Context, id string) { s.rdb.Del(ctx, "session:"+id) }

// A helper is reported where it prolongs, not where it is called.

func (l *Lock) KeepAlive(ctx context.Context, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Second):
			l.prolong(ctx)
		}
	}
}

func (l *Lock) prolong(ctx context.Context) {
	l.rdb.Expire(ctx, l.key, time.Minute) // want `LL2008: Expire prolongs this lock`
}

func (l *Lock) Do(ctx context.Context, work func()) error {
	if !l.TryLock(ctx) {
		return errBusy
	}
	done := make(chan struct{})
	defer close(done)
	go l.KeepAlive(ctx, done)
	work()
	return nil
}
