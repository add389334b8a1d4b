// Package redis has just as much of go-redis as the tests call. It is loaded, never run.
package redis

import "time"

type (
	baseCmd   struct{ err error }
	Cmd       struct{ baseCmd }
	BoolCmd   struct{ baseCmd }
	IntCmd    struct{ baseCmd }
	StringCmd struct{ baseCmd }
	StatusCmd struct{ baseCmd }
	Cmder     interface{ Err() error }
)

func (*baseCmd) Err() error                { return nil }
func (*Cmd) Result() (interface{}, error)  { return nil, nil }
func (*Cmd) Int64() (int64, error)         { return 0, nil }
func (*BoolCmd) Val() bool                 { return false }
func (*BoolCmd) Result() (bool, error)     { return false, nil }
func (*IntCmd) Val() int64                 { return 0 }
func (*IntCmd) Result() (int64, error)     { return 0, nil }
func (*StringCmd) Val() string             { return "" }
func (*StringCmd) Result() (string, error) { return "", nil }
func (*StatusCmd) Result() (string, error) { return "", nil }

type SetArgs struct {
	Mode    string
	TTL     time.Duration
	KeepTTL bool
}

type cmdable func(args ...interface{}) error

func (cmdable) SetNX(key string, value interface{}, expiration time.Duration) *BoolCmd { return nil }
func (cmdable) Set(key string, value interface{}, expiration time.Duration) *StatusCmd { return nil }
func (cmdable) SetArgs(key string, value interface{}, a SetArgs) *StatusCmd            { return nil }
func (cmdable) Get(key string) *StringCmd                                              { return nil }
func (cmdable) Del(keys ...string) *IntCmd                                             { return nil }
func (cmdable) Expire(key string, expiration time.Duration) *BoolCmd                   { return nil }
func (cmdable) Do(args ...interface{}) *Cmd                                            { return nil }
func (cmdable) Eval(script string, keys []string, args ...interface{}) *Cmd            { return nil }

type Cmdable interface {
	SetNX(key string, value interface{}, expiration time.Duration) *BoolCmd
	Get(key string) *StringCmd
	Del(keys ...string) *IntCmd
	Expire(key string, expiration time.Duration) *BoolCmd
	Eval(script string, keys []string, args ...interface{}) *Cmd
}

type Pipeliner interface {
	Cmdable
	Exec() ([]Cmder, error)
}

type Client struct{ cmdable }

func (*Client) Pipeline() Pipeliner                                   { return nil }
func (*Client) TxPipeline() Pipeliner                                 { return nil }
func (*Client) TxPipelined(fn func(Pipeliner) error) ([]Cmder, error) { return nil, nil }
func (*Client) Watch(fn func(*Tx) error, keys ...string) error        { return nil }

type Tx struct{ cmdable }

func (*Tx) Pipelined(fn func(Pipeliner) error) ([]Cmder, error) { return nil, nil }
func (*Tx) Pipeline() Pipeliner                                 { return nil }

func (*Tx) TxPipelined(fn func(Pipeliner) error) ([]Cmder, error) { return nil, nil }

type Script struct{ src string }

func NewScript(src string) *Script { return &Script{src} }

func (*Script) Run(c Cmdable, keys []string, args ...interface{}) *Cmd { return nil }
