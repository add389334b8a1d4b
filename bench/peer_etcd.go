package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	etcd "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// The contenders on etcd. The address of each is the members, separated by commas.
var (
	etcdLockgen = contender{name: "lockgen-etcd", open: openEtcdLockgen(0)}
	etcdStrict  = contender{name: "lockgen-etcd-fifo", open: openEtcdLockgen(-1)}
	etcdMutex   = contender{name: "etcd-mutex", peer: true, open: openEtcdMutex}
)

// trier is a contender on etcd that can try a lock once. It reports whether it got it.
type trier interface {
	try(ctx context.Context, key string) (bool, error)
}

func openEtcd(at address) (*etcd.Client, error) {
	return etcd.New(etcd.Config{
		Endpoints: strings.Split(at.addr, ","), DialTimeout: 5 * time.Second, DialKeepAliveTime: 5 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second, Logger: zap.NewNop(),
	})
}

type etcdLockgenLocks struct {
	client *etcd.Client
	locker *lockrt.Locker
}

func openEtcdLockgen(handoffs int) func(address) (locks, error) {
	return func(at address) (locks, error) { return newEtcdLockgen(at, handoffs) }
}

func newEtcdLockgen(at address, handoffs int) (locks, error) {
	client, err := openEtcd(at)
	if err != nil {
		return nil, err
	}
	cfg := lockrt.Config{Node: "bench", LocalHandoffs: handoffs}
	locker, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), cfg)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &etcdLockgenLocks{client, locker}, nil
}

func (l *etcdLockgenLocks) lock(ctx context.Context, key string) (func(context.Context) error, error) {
	lease, err := l.locker.Acquire(ctx, key, lockrt.Options{TTL: leaseTime, Wait: lockrt.Forever})
	if err != nil {
		return nil, err
	}
	return lease.Release, nil
}

func (l *etcdLockgenLocks) try(ctx context.Context, key string) (bool, error) {
	lease, err := l.locker.TryAcquire(ctx, key, lockrt.Options{TTL: leaseTime})
	switch {
	case errors.Is(err, lockrt.ErrBusy):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, lease.Release(ctx)
}

func (l *etcdLockgenLocks) close() error {
	return errors.Join(l.locker.Close(context.Background()), l.client.Close())
}

// etcdMutexLocks are mutexes of the package concurrency. Goroutines that share a session share the lock, so each caller
// has a session while it wants or has one; sessions are used again.
type etcdMutexLocks struct {
	client *etcd.Client

	mu   sync.Mutex
	idle []*concurrency.Session
}

func openEtcdMutex(at address) (locks, error) {
	client, err := openEtcd(at)
	if err != nil {
		return nil, err
	}
	return &etcdMutexLocks{client: client}, nil
}

func (l *etcdMutexLocks) session() (*concurrency.Session, error) {
	l.mu.Lock()
	if last := len(l.idle) - 1; last >= 0 {
		s := l.idle[last]
		l.idle = l.idle[:last]
		l.mu.Unlock()
		return s, nil
	}
	l.mu.Unlock()
	return concurrency.NewSession(l.client, concurrency.WithTTL(int(leaseTime/time.Second)))
}

func (l *etcdMutexLocks) back(s *concurrency.Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = append(l.idle, s)
}

func (l *etcdMutexLocks) lock(ctx context.Context, key string) (func(context.Context) error, error) {
	s, err := l.session()
	if err != nil {
		return nil, err
	}
	m := concurrency.NewMutex(s, "bench/"+key)
	if err := m.Lock(ctx); err != nil {
		l.back(s)
		return nil, err
	}
	return func(ctx context.Context) error {
		err := m.Unlock(ctx)
		if err == nil {
			l.back(s)
		}
		return err
	}, nil
}

func (l *etcdMutexLocks) try(ctx context.Context, key string) (bool, error) {
	s, err := l.session()
	if err != nil {
		return false, err
	}
	defer l.back(s)
	err = concurrency.NewMutex(s, "bench/"+key).TryLock(ctx)
	if errors.Is(err, concurrency.ErrLocked) {
		return false, nil
	}
	return err == nil, err
}

func (l *etcdMutexLocks) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.idle {
		s.Orphan()
	}
	return l.client.Close()
}
