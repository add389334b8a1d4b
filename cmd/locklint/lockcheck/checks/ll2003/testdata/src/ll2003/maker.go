package ll2003

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"
)

const compareAndDel = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`

// One object locks any key for anybody, always with the token that it was made with.

type sharedLocks struct {
	rdb *redis.Client
	id  string
}

func newSharedLocks(rdb *redis.Client, instanceID string) *sharedLocks {
	return &sharedLocks{rdb, instanceID}
}

func (l *sharedLocks) Lock(ctx context.Context, key string) bool {
	return l.rdb.SetNX(ctx, "lock:"+key, l.id, time.Minute).Val() // want `LL2003: the token that SetNX stores is the same for everybody who locks through one ll2003.sharedLocks`
}

func (l *sharedLocks) Unlock(ctx context.Context, key string) error {
	return l.rdb.Eval(ctx, compareAndDel, []string{"lock:" + key}, l.id).Err()
}

// An object for one lock has a token of its own.

type oneLock struct {
	rdb        *redis.Client
	key, token string
}

func newOneLock(rdb *redis.Client, key, token string) *oneLock { return &oneLock{rdb, key, token} }

func (l *oneLock) Lock(ctx context.Context) bool {
	return l.rdb.SetNX(ctx, "lock:"+l.key, l.token, time.Minute).Val()
}

func (l *oneLock) Unlock(ctx context.Context) error {
	return l.rdb.Eval(ctx, compareAndDel, []string{"lock:" + l.key}, l.token).Err()
}

// This one makes a new token each time.

type freshLocks struct {
	rdb   *redis.Client
	token string
}

func newFreshLocks(rdb *redis.Client) *freshLocks { return &freshLocks{rdb: rdb, token: "none"} }

func (l *freshLocks) Lock(ctx context.Context, key, token string) bool {
	l.token = token
	return l.rdb.SetNX(ctx, "lock:"+key, l.token, time.Minute).Val()
}

func (l *freshLocks) Unlock(ctx context.Context, key string) error {
	return l.rdb.Eval(ctx, compareAndDel, []string{"lock:" + key}, l.token).Err()
}

// What names a process has many names.

type identified struct {
	rdb      *redis.Client
	identity string
}

func newIdentified(rdb *redis.Client, identity string) *identified { return &identified{rdb, identity} }

func (l *identified) lockKey(key string) string { return "lock:" + key }

func (l *identified) Lock(ctx context.Context, key string) bool {
	return l.rdb.SetNX(ctx, l.lockKey(key), l.identity, time.Minute).Val() // want `LL2003: .* the same for everybody who locks through one ll2003.identified`
}

func (l *identified) Unlock(ctx context.Context, key string) error {
	return l.rdb.Eval(ctx, compareAndDel, []string{l.lockKey(key)}, l.identity).Err()
}

// A random token that is made with the object is the token of all who use it.

type roomLocker struct {
	rdb   *redis.Client
	token string
}

func newRoomLocker(rdb *redis.Client) *roomLocker { return &roomLocker{rdb: rdb, token: rand.Text()} }

func (l *roomLocker) Lock(ctx context.Context, room string) bool {
	return l.rdb.SetNX(ctx, "lock:room:"+room, l.token, time.Minute).Val() // want `LL2003: .* the same for everybody who locks through one ll2003.roomLocker`
}

func (l *roomLocker) Unlock(ctx context.Context, room string) error {
	return l.rdb.Eval(ctx, compareAndDel, []string{"lock:room:" + room}, l.token).Err()
}

// Fine: an object that may well be made for each lock.

type doorLock struct {
	rdb   *redis.Client
	token string
}

func newDoorLock(rdb *redis.Client) *doorLock { return &doorLock{rdb: rdb, token: rand.Text()} }

func (l *doorLock) Lock(ctx context.Context, door string) bool {
	return l.rdb.SetNX(ctx, "lock:door:"+door, l.token, time.Minute).Val()
}

func (l *doorLock) Unlock(ctx context.Context, door string) error {
	return l.rdb.Eval(ctx, compareAndDel, []string{"lock:door:" + door}, l.token).Err()
}
