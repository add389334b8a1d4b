// Package rueidis has just as much of rueidis as the tests call. It is loaded, never run.
package rueidis

import (
	"context"

	"github.com/redis/rueidis/internal/cmds"
)

type (
	Builder   = cmds.Builder
	Completed = cmds.Completed
)

type RedisResult struct{ err error }

func (RedisResult) Error() error              { return nil }
func (RedisResult) NonRedisError() error      { return nil }
func (RedisResult) AsBool() (bool, error)     { return false, nil }
func (RedisResult) AsInt64() (int64, error)   { return 0, nil }
func (RedisResult) ToString() (string, error) { return "", nil }

type CoreClient interface {
	B() Builder
	Do(ctx context.Context, cmd Completed) RedisResult
	DoMulti(ctx context.Context, multi ...Completed) []RedisResult
}

type Client interface {
	CoreClient
	Dedicated(fn func(DedicatedClient) error) error
}

type DedicatedClient interface{ CoreClient }

type Lua struct{ script string }

func NewLuaScript(script string) *Lua { return &Lua{script} }

func (*Lua) Exec(ctx context.Context, c Client, keys, args []string) RedisResult {
	return RedisResult{}
}
