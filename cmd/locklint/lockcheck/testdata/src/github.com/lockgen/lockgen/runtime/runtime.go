// Package lockrt has just as much of the lock runtime as the tests call. It is loaded, never run.
package lockrt

import (
	"context"
	"errors"
	"time"
)

type (
	Locker  struct{ leases []*Lease } // nobody outside gets at them
	Lease   struct{}
	Leases  []*Lease
	Fence   uint64
	Options struct {
		TTL, Wait time.Duration
		NoRenew   bool
		Reentrant bool
		Mode      Mode
		Permits   int
	}
	Mode       uint8
	KeyOptions struct {
		Key     string
		Mode    Mode
		Permits int
	}
)

const (
	Write Mode = iota
	Read
)

func (*Locker) AcquireEach(ctx context.Context, keys []KeyOptions, o Options) (Leases, error) {
	return nil, nil
}

func (*Locker) DoEach(ctx context.Context, keys []KeyOptions, o Options, fn func(context.Context, Leases) error) error {
	return nil
}

func (*Lease) Slot() int { return 0 }

var ErrBusy = errors.New("busy")

func (*Locker) Acquire(ctx context.Context, key string, o Options) (*Lease, error) { return nil, nil }
func (*Locker) TryAcquire(ctx context.Context, key string, o Options) (*Lease, error) {
	return nil, nil
}
func (*Locker) AcquireAll(ctx context.Context, keys []string, o Options) (Leases, error) {
	return nil, nil
}

func (*Locker) Close(ctx context.Context) error { return nil }

func (*Lease) Release(ctx context.Context) error { return nil }
func (*Lease) Check(ctx context.Context) error   { return nil }
func (*Lease) Context() context.Context          { return nil }
func (*Lease) Fence() Fence                      { return 0 }
func (*Lease) Done() <-chan struct{}             { return nil }
func (*Lease) Err() error                        { return nil }

func (Leases) Context() context.Context          { return nil }
func (Leases) Release(ctx context.Context) error { return nil }

func (Leases) Lease(key string) *Lease { return nil }

const IfUndefinedRunLockgenV3 = 1

type KeyPart struct{}

func BuildKey(parts ...KeyPart) (string, error)        { return "", nil }
func KeyText(text string) KeyPart                      { return KeyPart{} }
func KeyInt[T ~int | ~int64](name string, v T) KeyPart { return KeyPart{} }

func KeyString[T ~string](name string, v T) KeyPart    { return KeyPart{} }

func NilPointer(path string) error { return nil }

func FromContext(ctx context.Context) *Lease { return nil }

func (*Locker) Do(ctx context.Context, key string, o Options, fn func(context.Context, *Lease) error) error {
	return nil
}

func (*Locker) DoAll(ctx context.Context, keys []string, o Options, fn func(context.Context, Leases) error) error {
	return nil
}
