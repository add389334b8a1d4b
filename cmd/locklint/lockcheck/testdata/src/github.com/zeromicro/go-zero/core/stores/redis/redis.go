// Package redis has just as much of go-zero's client as the tests call. It is loaded, never run.
package redis

import "context"

type (
	Redis     struct{}
	RedisLock struct{}
	Script    struct{}
)

func NewScript(text string) *Script { return nil }

func (*Redis) SetnxCtx(ctx context.Context, key, value string) (bool, error) { return false, nil }
func (*Redis) SetnxEx(key, value string, seconds int) (bool, error)          { return false, nil }
func (*Redis) SetnxExCtx(ctx context.Context, key, value string, seconds int) (bool, error) {
	return false, nil
}
func (*Redis) Del(keys ...string) (int, error)                         { return 0, nil }
func (*Redis) DelCtx(ctx context.Context, keys ...string) (int, error) { return 0, nil }
func (*Redis) Get(key string) (string, error)                          { return "", nil }
func (*Redis) Expire(key string, seconds int) error                    { return nil }
func (*Redis) Eval(script string, keys []string, args ...interface{}) (interface{}, error) {
	return nil, nil
}
func (*Redis) ScriptRun(script *Script, keys []string, args ...interface{}) (interface{}, error) {
	return nil, nil
}

func NewRedisLock(store *Redis, key string) *RedisLock { return nil }

func (*RedisLock) SetExpire(seconds int)                        {}
func (*RedisLock) Acquire() (bool, error)                       { return false, nil }
func (*RedisLock) AcquireCtx(ctx context.Context) (bool, error) { return false, nil }
func (*RedisLock) Release() (bool, error)                       { return false, nil }
func (*RedisLock) ReleaseCtx(ctx context.Context) (bool, error) { return false, nil }
