package ll3010

import (
	"context"
	"errors"
	"log"

	"github.com/go-zookeeper/zk"
	"github.com/hashicorp/consul/api"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// Locks behind types of the program's own.

type etcdLock struct {
	session *concurrency.Session
	mu      *concurrency.Mutex
}

func newEtcdLock(s *concurrency.Session, key string) *etcdLock {
	return &etcdLock{session: s, mu: concurrency.NewMutex(s, key)}
}

func (l *etcdLock) Lock(ctx context.Context) error {
	if err := l.mu.Lock(ctx); err != nil {
		return errors.Join(errors.New("cannot lock"), err)
	}
	return nil
}

func (l *etcdLock) Unlock(ctx context.Context) error { return l.mu.Unlock(ctx) }

// sessionLock makes its session when it locks.
type sessionLock struct {
	key     string
	session *concurrency.Session
	mutex   *concurrency.Mutex
}

func (l *sessionLock) Lock(ctx context.Context) error {
	s, err := concurrency.NewSession()
	if err != nil {
		return err
	}
	m := concurrency.NewMutex(s, l.key)
	if err := m.Lock(ctx); err != nil {
		_ = s.Close()
		return err
	}
	l.session, l.mutex = s, m
	return nil
}

func (l *sessionLock) Unlock(ctx context.Context) error {
	if err := l.mutex.Unlock(ctx); err != nil {
		return err
	}
	return l.session.Close()
}

// zkLock says whether it got the lock.
type zkLock struct{ lock *zk.Lock }

func (l *zkLock) Lock() bool { return l.lock.Lock() == nil }

func (l *zkLock) Unlock() { _ = l.lock.Unlock() }

// consulLock hides the channel.
type consulLock struct {
	lock *api.Lock
	lost <-chan struct{}
}

func (l *consulLock) Lock() error {
	lost, err := l.lock.Lock(nil)
	if err != nil {
		return err
	}
	if lost == nil {
		return errors.New("somebody else has it")
	}
	l.lost = lost
	return nil
}

func (l *consulLock) Unlock() error { return l.lock.Unlock() }

func wrappedDropped(ctx context.Context, l *etcdLock, work func() error) {
	l.Lock(ctx) // want `LL3010: the error of l.Lock is ignored`
	defer l.Unlock(ctx)
	work()
}

func wrappedLogged(ctx context.Context, l *sessionLock, work func() error) {
	if err := l.Lock(ctx); err != nil { // want `LL3010: when l.Lock fails, the code goes on without the lock: work at line [0-9]+ runs either way`
		log.Print(err)
	}
	defer l.Unlock(ctx)
	work()
}

func wrappedFlag(l *zkLock, work func() error) {
	if !l.Lock() { // want `LL3010: when l.Lock fails, the code goes on without the lock`
		log.Print("busy")
	}
	work()
	l.Unlock()
}

func wrappedConsul(l *consulLock, work func() error) {
	_ = l.Lock() // want `LL3010: the error of l.Lock is ignored`
	work()
	_ = l.Unlock()
}

// Embedded in a second wrapper.
type orders struct{ lock *etcdLock }

func (o *orders) Lock(ctx context.Context) error   { return o.lock.Lock(ctx) }
func (o *orders) Unlock(ctx context.Context) error { return o.lock.Unlock(ctx) }

func wrappedTwice(ctx context.Context, o *orders, work func() error) {
	if err := o.Lock(ctx); err != nil { // want `LL3010: when o.Lock fails`
		log.Print(err)
	}
	work()
	_ = o.Unlock(ctx)
}

// A function that locks what it is given.
func lockIt(ctx context.Context, mu *concurrency.Mutex) error { return mu.Lock(ctx) }

func lockedByFunction(ctx context.Context, mu *concurrency.Mutex, work func() error) {
	if err := lockIt(ctx, mu); err != nil { // want `LL3010: when lockIt fails`
		log.Print(err)
	}
	work()
	_ = mu.Unlock(ctx)
}

// Below is what is fine.

func wrappedReturned(ctx context.Context, l *etcdLock, work func() error) error {
	if err := l.Lock(ctx); err != nil {
		return err
	}
	defer l.Unlock(ctx)
	return work()
}

func wrappedBusy(l *zkLock, work func() error) error {
	if !l.Lock() {
		return nil
	}
	defer l.Unlock()
	return work()
}

// An election is no lock: whoever is not elected does its own work.
type elector struct{ mu *concurrency.Mutex }

func (e *elector) Campaign(ctx context.Context) error { return e.mu.Lock(ctx) }
func (e *elector) Resign(ctx context.Context) error   { return e.mu.Unlock(ctx) }

func campaigns(ctx context.Context, e *elector, work func() error) {
	if err := e.Campaign(ctx); err != nil {
		log.Print(err)
	}
	work()
}
