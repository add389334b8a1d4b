package main

import (
	"context"
	"strings"

	"github.com/go-zookeeper/zk"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/zkstore"
)

// The contenders on ZooKeeper. The address of each is the servers, separated by commas.
var (
	zkLockgen = contender{name: "lockgen-zk", open: openZKLockgen(0)}
	zkStrict  = contender{name: "lockgen-zk-fifo", open: openZKLockgen(-1)}
	zkLock    = contender{name: "zk-lock", peer: true, open: openZKLock}
)

type zkLockgenLocks struct{ locker *lockrt.Locker }

func openZKLockgen(handoffs int) func(address) (locks, error) {
	return func(at address) (locks, error) {
		store := zkstore.New(strings.Split(at.addr, ","), zkstore.Config{SessionTimeout: leaseTime})
		locker, err := lockrt.New(store, lockrt.Config{Node: "bench", LocalHandoffs: handoffs})
		return &zkLockgenLocks{locker}, err
	}
}

func (l *zkLockgenLocks) lock(ctx context.Context, key string) (func(context.Context) error, error) {
	lease, err := l.locker.Acquire(ctx, key, lockrt.Options{TTL: leaseTime, Wait: lockrt.Forever})
	if err != nil {
		return nil, err
	}
	return lease.Release, nil
}

func (l *zkLockgenLocks) close() error { return l.locker.Close(context.Background()) }

// zkLocks are locks of the client. It knows no contexts: what is given up here goes with the connection.
type zkLocks struct {
	conn   *zk.Conn
	events <-chan zk.Event
}

func openZKLock(at address) (locks, error) {
	conn, events, err := zk.Connect(strings.Split(at.addr, ","), leaseTime, zk.WithLogger(silent{}))
	return &zkLocks{conn, events}, err
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func (l *zkLocks) lock(ctx context.Context, key string) (func(context.Context) error, error) {
	mutex := zk.NewLock(l.conn, "/bench/"+key, zk.WorldACL(zk.PermAll))
	locked := make(chan error, 1)
	go func() { locked <- mutex.Lock() }()
	select {
	case err := <-locked:
		return func(context.Context) error { return mutex.Unlock() }, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *zkLocks) close() error {
	l.conn.Close()
	for range l.events { // until its goroutines are gone
	}
	return nil
}
