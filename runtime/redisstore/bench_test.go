package redisstore_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// compareAndDelete is the release of the floor.
var compareAndDelete = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

// BenchmarkUncontended acquires and releases keys that nobody else wants. The floor is what two commands cost at least:
// SET NX PX and a script that compares and deletes.
func BenchmarkUncontended(b *testing.B) {
	client := newClient(b, testenv.Redis(b))
	locks, err := lockrt.New(redisstore.New(client, redisstore.Config{}), lockrt.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = locks.Close(context.Background()) })
	ctx := context.Background()
	for name, once := range map[string]func(key string) error{
		"floor": func(key string) error {
			token := rand.Text()
			if err := client.SetArgs(ctx, key, token, redis.SetArgs{Mode: "NX", TTL: 30 * time.Second}).Err(); err != nil {
				return err
			}
			return compareAndDelete.Run(ctx, client, []string{key}, token).Err()
		},
		"lockgen": func(key string) error {
			lease, err := locks.Acquire(ctx, key, lockrt.Options{TTL: 30 * time.Second, Wait: time.Second})
			if err != nil {
				return err
			}
			return lease.Release(ctx)
		},
	} {
		for _, goroutines := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", name, goroutines), func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(goroutines)
				if goroutines == 1 {
					for b.Loop() {
						if err := once("key"); err != nil {
							b.Fatal(err)
						}
					}
					return
				}
				var n atomic.Int64
				b.RunParallel(func(pb *testing.PB) {
					key := fmt.Sprint("key", n.Add(1))
					for pb.Next() {
						if err := once(key); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}
