// Package leases has locks of a library behind the program's own interfaces and functions.
package leases

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

func work() error { return nil }

// The interface is made for the library's type.

type Mutex interface {
	Lock() error
	Unlock() (bool, error)
}

type Factory interface{ New(name string) Mutex }

type onRedsync struct{ rs *redsync.Redsync }

func (o *onRedsync) New(name string) Mutex { return o.rs.NewMutex(name) }

func logs(f Factory) error {
	mu := f.New("a")
	if err := mu.Lock(); err != nil { // want `LL3002: when mu.Lock fails, the code goes on`
		log.Println(err)
	}
	defer mu.Unlock() // want `LL3005: mu.Unlock runs also when mu.Lock`
	return work()
}

func drops(f Factory) error {
	mu := f.New("a")
	mu.Lock() // want `LL3002`
	defer mu.Unlock()
	return work()
}

// The release is handed out as a function; where there is no lock it does nothing.

type Locks struct{ client *redislock.Client }

func (l *Locks) locked(ctx context.Context, key string) (func(), error) {
	lock, err := l.client.Obtain(ctx, key, time.Second, nil)
	if err != nil {
		return func() {}, err
	}
	return func() { _ = lock.Release(context.WithoutCancel(ctx)) }, nil
}

func (l *Locks) goesOn(ctx context.Context) error {
	unlock, err := l.locked(ctx, "k") // want `LL3002: when l.locked fails, the code goes on`
	if err != nil {
		log.Print(err)
	}
	defer unlock()
	return work()
}

func (l *Locks) forgets(ctx context.Context, busy bool) error {
	unlock, err := l.locked(ctx, "k") // want `LL3003`
	if err != nil {
		return err
	}
	if busy {
		return nil
	}
	unlock()
	return nil
}

// Two questions about the same error: one of them returns.

func (l *Locks) asksTwice(ctx context.Context) error {
	lock, err := l.client.Obtain(ctx, "k", time.Second, nil)
	if err != nil && !errors.Is(err, redislock.ErrNotObtained) {
		return err
	}
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil
	}
	defer lock.Release(context.WithoutCancel(ctx))
	return work()
}

func (l *Locks) comparesTwice(ctx context.Context) error {
	lock, err := l.client.Obtain(ctx, "k", time.Second, nil)
	if err != nil && err != redislock.ErrNotObtained {
		return err
	}
	if err == redislock.ErrNotObtained {
		return nil
	}
	defer lock.Release(context.WithoutCancel(ctx))
	return work()
}
