package redis

import (
	"context"
	"time"
)

func (*Cmd) Bool() (bool, error)         { return false, nil }
func (*Cmd) Int() (int, error)           { return 0, nil }
func (*StringCmd) Int64() (int64, error) { return 0, nil }

func (cmdable) EvalSha(ctx context.Context, sha1 string, keys []string, args ...interface{}) *Cmd {
	return nil
}
func (cmdable) GetSet(ctx context.Context, key string, value interface{}) *StringCmd { return nil }
func (cmdable) Incr(ctx context.Context, key string) *IntCmd                         { return nil }
func (cmdable) Decr(ctx context.Context, key string) *IntCmd                         { return nil }

type UniversalClient interface {
	Cmdable
	TxPipeline() Pipeliner
	Watch(ctx context.Context, fn func(*Tx) error, keys ...string) error
}

type ClusterClient struct{ Client }

func (cmdable) PExpire(ctx context.Context, key string, expiration time.Duration) *BoolCmd {
	return nil
}

type replyError string

func (e replyError) Error() string { return string(e) }

// Nil is the error of a key that is not there.
const Nil = replyError("redis: nil")
