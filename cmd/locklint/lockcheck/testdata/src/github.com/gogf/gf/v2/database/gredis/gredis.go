// Package gredis has just as much of GoFrame's client as the tests call. It is loaded, never run.
package gredis

import "context"

type (
	Var struct{}

	Redis struct {
		group
	}
	group struct {
		IGroupGeneric
		IGroupString
		IGroupScript
	}
	IGroupGeneric interface {
		Del(ctx context.Context, keys ...string) (int64, error)
		Expire(ctx context.Context, key string, seconds int64) (int64, error)
	}
	IGroupString interface {
		Set(ctx context.Context, key string, value interface{}, option ...SetOption) (*Var, error)
		SetNX(ctx context.Context, key string, value interface{}) (bool, error)
		Get(ctx context.Context, key string) (*Var, error)
	}
	IGroupScript interface {
		Eval(ctx context.Context, script string, numKeys int64, keys []string, args []interface{}) (*Var, error)
	}
	TTLOption struct{ EX, PX *int64 }
	SetOption struct {
		TTLOption
		NX bool
	}
)

func (*Var) String() string { return "" }

func (*Redis) Do(ctx context.Context, command string, args ...interface{}) (*Var, error) {
	return nil, nil
}
