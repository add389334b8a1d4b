package lockrt_test

import (
	"context"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// What the runtime itself costs, with a store that answers at once.
func BenchmarkLocker(b *testing.B) {
	locks, err := lockrt.New(memstore.New(), lockrt.Config{Logger: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	defer locks.Close(context.Background())
	o := lockrt.Options{TTL: 30 * time.Second, Wait: lockrt.Forever}
	once := func(b *testing.B, key string, o lockrt.Options) {
		lease, err := locks.Acquire(context.Background(), key, o)
		if err != nil {
			b.Fatal(err)
		}
		if err := lease.Release(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("uncontended", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			once(b, "k", o)
		}
	})
	b.Run("contended", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				once(b, "k", o)
			}
		})
	})
}
