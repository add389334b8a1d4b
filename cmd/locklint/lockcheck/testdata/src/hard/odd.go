package hard

import (
	"context"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/redis/go-redis/v9"
)

// Shapes that the language has got lately, and old ones that few use.

type (
	pairOf[T any]    = struct{ a, b T }
	lockerOf[T any]  = lockFunc[T]
	lockFunc[T any]  func(ctx context.Context, key T) (*lockrt.Lease, error)
	self[S self[S]]  interface{ next() S }
	anyRedis         interface{ redis.Cmdable }
	embedded         struct{ *redis.Client }
	keyed[K ~string] struct{ rdb *redis.Client }
	chain[T self[T]] struct{ first T }
	recursive2       []recursive2
	unlock           = func(context.Context) error
)

func (k keyed[K]) lock(ctx context.Context, key K) bool {
	return k.rdb.SetNX(ctx, string(key), 1, time.Second).Val()
}

func aliases(ctx context.Context, f lockerOf[string], p pairOf[string]) error {
	lease, err := f(ctx, max(p.a, p.b))
	if err != nil {
		return err
	}
	return lease.Release(ctx)
}

func builtins(ctx context.Context, l *lockrt.Locker, m map[string]int) (err error) {
	clear(m)
	defer func() { err = recover().(error) }()
	for i := range min(3, len(m)) {
		defer func(i int) { _ = i }(i)
	}
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return
	}
	defer func() { _ = lease.Release(ctx) }()
	panic("x")
}

func jumps(ctx context.Context, l *lockrt.Locker, n int) {
outer:
	for i := 0; ; i++ {
		switch {
		case i > n:
			break outer
		case i%2 == 0:
			fallthrough
		default:
			for range n {
				continue outer
			}
		}
		goto end
	}
end:
	if lease, err := l.Acquire(ctx, "a", lockrt.Options{}); err == nil {
		defer lease.Release(ctx)
	} else if n--; n > 0 {
		goto end
	}
}

func methodValues(ctx context.Context, l *lockrt.Locker, e embedded, r anyRedis) (unlock, error) {
	e.SetNX(ctx, "x", 1, 0)
	del := r.Del
	del(ctx, "x")
	acquire, byExpr := l.Acquire, (*lockrt.Locker).Acquire
	lease, err := acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return nil, err
	}
	other, err := byExpr(l, ctx, "b", lockrt.Options{}) // want `LL1008: byExpr runs under the lock from Acquire`
	if err != nil {
		return lease.Release, err
	}
	func(rest ...any) { _ = rest }(lease, other)
	return other.Release, nil
}

func closures(ctx context.Context, l *lockrt.Locker) func() func() error {
	var f func(n int) func() func() error
	f = func(n int) func() func() error {
		if n == 0 {
			return func() func() error { return func() error { return nil } }
		}
		return f(n - 1)
	}
	lease, _ := l.Acquire(ctx, "a", lockrt.Options{})
	return func() func() error {
		return func() error { return lease.Release(ctx) }
	}
}

func selects(ctx context.Context, l *lockrt.Locker, in chan *lockrt.Lease, out chan<- *lockrt.Lease) {
	for {
		select {
		case lease, ok := <-in:
			if !ok {
				return
			}
			out <- lease
		case <-ctx.Done():
			select {}
		}
	}
}

func walk[T self[T]](c chain[T], yield func(T) bool) {
	for t := c.first; yield(t); t = t.next() {
	}
}

func empty() {}

var _, _ = func() (int, error) { return 0, nil }()

var lazy = func(ctx context.Context, rdb *redis.Client) bool {
	defer rdb.Del(ctx, "k")
	return rdb.SetNX(ctx, "k", 1, 0).Val()
}
