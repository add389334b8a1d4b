// Package hard is code that analyzers stumble over. Nothing is to be found in it.
package hard

import (
	"context"
	"iter"
	"unsafe"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/redis/go-redis/v9"
)

func asm(x int) int

// Variables that hold each other.
func eachOther(ctx context.Context, rdb *redis.Client) (a, b bool) {
	defer func() { _ = recover() }()
	a = rdb.SetNX(ctx, "lock:each", 1, 0).Val()
	a, b = b, a
	return a, b
}

type set[K comparable, V any] map[K]V

func (s set[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for k, v := range s {
			if !yield(k, v) {
				return
			}
		}
	}
}

type node[T any] struct {
	next  *node[T]
	value T
}

func (n *node[T]) walk(f func(T)) {
	for ; n != nil; n = n.next {
		f(n.value)
	}
}

func recursive(ctx context.Context, rdb *redis.Client, key string, n int) {
	if n > 0 {
		recursive(ctx, rdb, key+"x", n-1)
		mutual(ctx, rdb, key)
	}
	rdb.Del(ctx, key)
}

func mutual(ctx context.Context, rdb *redis.Client, key string) { recursive(ctx, rdb, "y"+key, 1) }

func ranges(ctx context.Context, l *lockrt.Locker, s set[string, int]) error {
	for k := range s.all() {
		lease, err := l.Acquire(ctx, k, lockrt.Options{})
		if err != nil {
			return err
		}
		lease.Release(ctx)
	}
	return nil
}

func recursiveLease(ctx context.Context, l *lockrt.Locker, lease *lockrt.Lease, n int) *lockrt.Lease {
	if n == 0 {
		return lease
	}
	return recursiveLease(ctx, l, lease, n-1)
}

func labels(ctx context.Context, l *lockrt.Locker, ch chan int) {
again:
	lease, err := l.TryAcquire(ctx, "a", lockrt.Options{})
	if err != nil {
		select {
		case <-ch:
			goto again
		default:
			goto again
		}
	}
	defer func() { recover() }()
	defer lease.Release(ctx)
}

func sliced(ctx context.Context, rdb *redis.Client, keys []string) {
	rdb.Del(ctx, keys...)
	rdb.Del(ctx)
	rdb.Do(ctx)
	rdb.Do(ctx, keys)
	f := rdb.Del
	f(ctx, "x")
	_ = (*redis.Client).TxPipeline
	_ = unsafe.Sizeof(keys)
	switch rdb := any(rdb).(type) {
	case interface{ SetNX() }:
		rdb.SetNX()
	}
}

var table = map[string]func(context.Context, *redis.Client){
	"a": func(ctx context.Context, rdb *redis.Client) { rdb.SetNX(ctx, "lock:a", 1, 0) },
}

func init() { table["b"] = nil }
func init() { table["c"] = nil }

func _() {}
