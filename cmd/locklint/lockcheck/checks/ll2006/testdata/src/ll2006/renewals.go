package ll2006

import (
	"context"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
)

// Times that prolong a lock.

const (
	deleteOwn = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`
	renewOwn  = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`
)

type scripted struct {
	rdb        *goredis.Client
	key, token string
}

func (l *scripted) Lock(ctx context.Context, ttl time.Duration) (bool, error) {
	return l.rdb.SetNX(ctx, l.key, l.token, ttl).Result()
}

func (l *scripted) Unlock(ctx context.Context) error {
	return l.rdb.Eval(ctx, deleteOwn, []string{l.key}, l.token).Err()
}

func (l *scripted) Extend(ctx context.Context, ttl time.Duration) error {
	return l.rdb.Eval(ctx, renewOwn, []string{l.key}, l.token, ttl).Err() // want `LL2006: EVAL of this lock: it takes a number of milliseconds and is given a time.Duration`
}

func (l *scripted) ExtendSeconds(ctx context.Context, ttl time.Duration) error {
	return l.rdb.Eval(ctx, renewOwn, []string{l.key}, l.token, int(ttl.Seconds())).Err() // want `LL2006: EVAL of this lock: it takes a number of milliseconds and is given seconds`
}

func (l *scripted) ExtendFine(ctx context.Context, ttl time.Duration) error {
	return l.rdb.Eval(ctx, renewOwn, []string{l.key}, l.token, ttl.Milliseconds()).Err()
}

func (l *scripted) ExtendText(ctx context.Context, ttl time.Duration) error {
	return l.rdb.Eval(ctx, renewOwn, []string{l.key}, l.token, strconv.FormatInt(int64(ttl/time.Millisecond), 10)).Err()
}

type blind struct {
	conn redis.Conn
	key  string
}

func (l *blind) Lock(token string, ttl time.Duration) bool {
	reply, err := redis.String(l.conn.Do("SET", l.key, token, "NX", "PX", ttl.Milliseconds()))
	return err == nil && reply == "OK"
}

func (l *blind) Unlock() { l.conn.Do("DEL", l.key) }

func (l *blind) Renew(ttl time.Duration) { l.conn.Do("PEXPIRE", l.key, int64(ttl)) } // want `LL2006: PEXPIRE of this lock: it takes a number of milliseconds and is given a time.Duration`

func (l *blind) RenewFine(ttl time.Duration) { l.conn.Do("PEXPIRE", l.key, ttl.Milliseconds()) }

// What the server rejects is wrong whatever releases it.

func lockAndRun(conn redis.Conn, key string, seconds int, work func()) error {
	reply, err := conn.Do("SET", key, "EX", seconds, "NX") // want `LL2006: SET NX of this lock: SET has no option that is a number`
	if err != nil {
		return err
	}
	if reply == "OK" {
		work()
	}
	return nil
}

func markSeen(conn redis.Conn, key string, seconds int) error {
	_, err := conn.Do("SET", key, "EX", seconds, "NX")
	return err
}
