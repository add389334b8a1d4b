package main

import (
	"context"
	"errors"
	"strings"
	"sync"

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
	servers []string

	mu     sync.Mutex
	conn   *zk.Conn
	events <-chan zk.Event
}

func openZKLock(at address) (locks, error) {
	l := &zkLocks{servers: strings.Split(at.addr, ",")}
	return l, l.connect()
}

func (l *zkLocks) connect() (err error) {
	l.conn, l.events, err = zk.Connect(l.servers, leaseTime, zk.WithLogger(silent{}))
	return err
}

// failed begins a new session in place of one in which a Lock has failed: that may have left its node in the queue, and
// the next try would wait behind it.
func (l *zkLocks) failed(conn *zk.Conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != conn {
		return nil
	}
	l.disconnect()
	return l.connect()
}

func (l *zkLocks) disconnect() {
	l.conn.Close()
	for range l.events { // until its goroutines are gone
	}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func (l *zkLocks) lock(ctx context.Context, key string) (func(context.Context) error, error) {
	l.mu.Lock()
	conn := l.conn
	l.mu.Unlock()
	mutex := zk.NewLock(conn, "/bench/"+key, zk.WorldACL(zk.PermAll))
	locked := make(chan error, 1)
	go func() { locked <- mutex.Lock() }()
	select {
	case err := <-locked:
		if err != nil {
			return nil, errors.Join(err, l.failed(conn))
		}
		return func(context.Context) error {
			if err := mutex.Unlock(); !errors.Is(err, zk.ErrNoNode) { // gone: an earlier try came through, without an answer
				return err
			}
			return nil
		}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *zkLocks) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.disconnect()
	return nil
}
