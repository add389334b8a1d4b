package quiet

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// A place that is kept where all goes well, and given back where the rest fails, is no lock.

var errFull, errClosed = errors.New("full"), errors.New("closed")

const takePlace = `if redis.call("exists", KEYS[1]) == 1 then return 0 end redis.call("set", KEYS[1], ARGV[1], "NX", "EX", 60) return 1`

func joinLocked(ctx context.Context, rdb *redis.Client, lockID, member string, open bool) (string, error) {
	if n, err := rdb.Eval(ctx, takePlace, []string{"lock:place:" + lockID}, member).Int(); err != nil || n == 0 {
		return "", errFull
	}
	if !open {
		rdb.Del(ctx, "lock:place:"+lockID)
		return "", errClosed
	}
	if len(member) > 9 {
		rdb.Del(ctx, "lock:place:"+lockID)
		return "", errors.New("too long")
	}
	return member, nil
}

// An acquire that its owner repeats prolongs the lock, and has an error where somebody else holds it.

const lockAgain = `if redis.call("GET", KEYS[1]) == ARGV[1] then
	redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
	return "OK"
else
	return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2])
end`

const unlockOwn = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`

type again struct {
	rdb        *redis.Client
	key, token string
}

func (l *again) Lock(ctx context.Context) (bool, error) {
	reply, err := l.rdb.Eval(ctx, lockAgain, []string{l.key}, l.token, 1000).Result()
	if err != nil {
		return false, err
	}
	text, ok := reply.(string)
	if ok && text == "OK" {
		return true, nil
	}
	return false, nil
}

func (l *again) Unlock(ctx context.Context) error {
	return l.rdb.Eval(ctx, unlockOwn, []string{l.key}, l.token).Err()
}

func (l *again) watch(ctx context.Context) {
	for {
		time.Sleep(time.Second)
		if _, err := l.Lock(ctx); err != nil {
			return
		}
	}
}

// A lock in a hash has its owner in one field, and how often that has taken it in another; or both in one.

const lockHash = `if redis.call('EXISTS', KEYS[1]) == 0 then
	redis.call('HSET', KEYS[1], 'owner', ARGV[1])
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return redis.call('HINCRBY', KEYS[1], 'count', 1)
end
return 0`

const lockField = `if redis.call('EXISTS', KEYS[1]) == 0 then
	redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return 1
end
return 0`

const unlockHash = `if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`

func (l *again) LockHash(ctx context.Context) (bool, error) {
	n, err := l.rdb.Eval(ctx, lockHash, []string{l.key + ".hash"}, l.token, 1000).Int()
	return n > 0, err
}

func (l *again) UnlockHash(ctx context.Context) error {
	return l.rdb.Eval(ctx, unlockHash, []string{l.key + ".hash"}, l.token).Err()
}

func (l *again) LockField(ctx context.Context) (bool, error) {
	n, err := l.rdb.Eval(ctx, lockField, []string{l.key + ".field"}, l.token, 1000).Int()
	return n > 0, err
}

func (l *again) UnlockField(ctx context.Context) error {
	return l.rdb.Eval(ctx, unlockHash, []string{l.key + ".field"}, l.token).Err()
}
