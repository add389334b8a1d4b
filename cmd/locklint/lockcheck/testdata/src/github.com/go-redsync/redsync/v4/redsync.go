// Package redsync has just as much of redsync as the tests call. It is loaded, never run.
package redsync

import (
	"context"
	"errors"
	"time"
)

type (
	Pool    interface{}
	Redsync struct{}
	Mutex   struct{}
	Option  interface{ Apply(*Mutex) }
)

var ErrFailed = errors.New("failed")

func New(pools ...Pool) *Redsync { return nil }

func (*Redsync) NewMutex(name string, options ...Option) *Mutex { return nil }

func WithExpiry(expiry time.Duration) Option { return nil }
func WithTries(tries int) Option             { return nil }

func (*Mutex) Name() string                             { return "" }
func (*Mutex) Until() time.Time                         { return time.Time{} }
func (*Mutex) Lock() error                              { return nil }
func (*Mutex) LockContext(ctx context.Context) error    { return nil }
func (*Mutex) TryLock() error                           { return nil }
func (*Mutex) TryLockContext(ctx context.Context) error { return nil }
func (*Mutex) Value() string                            { return "" }

func (*Mutex) Unlock() (bool, error)                           { return false, nil }
func (*Mutex) UnlockContext(ctx context.Context) (bool, error) { return false, nil }
func (*Mutex) Extend() (bool, error)                           { return false, nil }
func (*Mutex) ExtendContext(ctx context.Context) (bool, error) { return false, nil }
func (*Mutex) Valid() (bool, error)                            { return false, nil }
func (*Mutex) ValidContext(ctx context.Context) (bool, error)  { return false, nil }

func WithGenValueFunc(genValueFunc func() (string, error)) Option { return nil }

// ErrTaken says that others have the lock.
type ErrTaken struct{}

func (ErrTaken) Error() string { return "taken" }
