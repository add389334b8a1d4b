package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// leaseTime is the life of every lock, for every contender. It is far longer than any critical section of a scenario,
// so that nobody loses a lock and nobody has to renew one while speed is measured.
const leaseTime = 30 * time.Second

// contender is one lock library with the settings that its documentation recommends. Each has a file of its own.
type contender struct {
	name string
	// peer is false for this library and for the hand-written floors: "the best peer" is chosen among the peers.
	peer bool
	// endsWithContext says that the lock is released when the context ends that it was acquired with.
	endsWithContext bool
	open            func(at address) (locks, error)
}

// locks is what one process has open of a contender.
type locks interface {
	// lock blocks until it has the lock on key or ctx ends, and returns what releases it.
	lock(ctx context.Context, key string) (unlock func(context.Context) error, err error)
	close() error
}

// address says where the server is and who counts what is sent to it.
type address struct {
	addr string
	sent *wireCount // nil: nobody counts, and no time is spent on it
}

// dial is the dialer of all clients.
func (a address) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, addr)
	if err != nil || a.sent == nil {
		return conn, err
	}
	return a.sent.watch(conn.(*net.TCPConn)), nil
}

// goRedis returns the client that all contenders on go-redis share the settings of: the defaults, with contexts that
// end calls.
func (a address) goRedis() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: a.addr, Dialer: a.dial, ContextTimeoutEnabled: true})
}

// contenders in the order of the tables.
var contenders = []contender{rawSleep, rawFloor, redsyncPeer, redislockPeer, rueidislockPeer, lockgenStrict, lockgenDefault,
	readersKind, mixedKind, mixedIdeal, zsetSemaphore, redissonSemaphore,
	sqlFloor, pglockPeer, pglockStill, pgAdvisory, mysqlGetter, sqlInside, sqlStrict, sqlPolling, sqlLockgen,
	etcdMutex, etcdStrict, etcdLockgen, zkLock, zkStrict, zkLockgen}

// named returns the contenders with these names, in their order.
func named(names ...string) ([]contender, error) {
	var chosen []contender
	var known []string
	for _, c := range contenders {
		known = append(known, c.name)
		if slices.Contains(names, c.name) {
			chosen = append(chosen, c)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no contender is named %q; there are %v", name, known)
		}
	}
	return chosen, nil
}

// must is for names that are written in the scenarios.
func must(chosen []contender, err error) []contender {
	if err != nil {
		panic(err)
	}
	return chosen
}
