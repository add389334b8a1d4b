package main

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// rueidislock as its README recommends for one server: KeyMajority 1 and NoLoopTracking (Redis 7.0.5 or later). It
// pipelines the calls of all goroutines over one connection by itself. Everything else is its default, but for the
// validity, which is the same for all contenders, and TryNextAfter: with one key there is no next, and a first answer
// that takes longer than its 20 ms, on a busy machine, leaves the caller waiting for a notification that never comes.
var rueidislockPeer = contender{name: "rueidislock", peer: true, endsWithContext: true, open: func(at address) (locks, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{
			InitAddress: []string{at.addr},
			DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return at.dial(ctx, "tcp", addr)
			},
		},
		KeyMajority:    1,
		NoLoopTracking: true,
		KeyValidity:    leaseTime,
		TryNextAfter:   5 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return rueidisLocks{locker}, nil
}}

type rueidisLocks struct{ locker rueidislock.Locker }

func (r rueidisLocks) lock(ctx context.Context, key string) (func(context.Context) error, error) {
	_, cancel, err := r.locker.WithContext(ctx, key)
	if err != nil {
		return nil, err
	}
	// cancel returns when the server has answered. It has no error to return.
	return func(context.Context) error { cancel(); return nil }, nil
}

func (r rueidisLocks) close() error { r.locker.Close(); return nil }
