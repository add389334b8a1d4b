// Package redis has just as much of redigo as the tests call. It is loaded, never run.
package redis

import "context"

type Conn interface {
	Close() error
	Do(commandName string, args ...interface{}) (reply interface{}, err error)
	Send(commandName string, args ...interface{}) error
	Flush() error
}

type Pool struct{}

func (*Pool) Get() Conn { return nil }

func DoContext(c Conn, ctx context.Context, cmd string, args ...interface{}) (interface{}, error) {
	return c.Do(cmd, args...)
}

func Int(reply interface{}, err error) (int, error)       { return 0, err }
func String(reply interface{}, err error) (string, error) { return "", err }
func Bool(reply interface{}, err error) (bool, error)     { return false, err }

type Script struct{}

func NewScript(keyCount int, src string) *Script { return &Script{} }

func (*Script) Do(c Conn, keysAndArgs ...interface{}) (interface{}, error) { return nil, nil }

func (*Script) Send(c Conn, keysAndArgs ...interface{}) error { return nil }

func Int64(reply interface{}, err error) (int64, error) { return 0, err }

type Args []interface{}

func (args Args) Add(value ...interface{}) Args { return append(args, value...) }
