package lockrt_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	_ "github.com/lockgen/lockgen/runtime/memstore"
)

func ExampleLocker_Acquire() {
	ctx := context.Background()
	locks, err := lockrt.Open(ctx, "memory:", lockrt.Config{Node: "web-1"}) // or redis://127.0.0.1:6379/0
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(ctx)

	lease, err := locks.Acquire(ctx, "order:42", lockrt.Options{TTL: 30 * time.Second, Wait: 2 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Release(ctx)

	// Work with the lease's context: it ends before anybody else can hold the lock.
	ctx = lease.Context()
	fmt.Println(lease.Key(), lockrt.AssertHeld(ctx, "order:42"))
	// Output: order:42 <nil>
}

func ExampleBusyError() {
	ctx := context.Background()
	locks, err := lockrt.Open(ctx, "memory:", lockrt.Config{Node: "web-1"})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(ctx)

	lease, err := locks.Acquire(ctx, "report", lockrt.Options{TTL: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Release(ctx)

	_, err = locks.TryAcquire(ctx, "report", lockrt.Options{TTL: time.Minute})
	var busy *lockrt.BusyError
	if errors.As(err, &busy) {
		fmt.Println("held by", busy.Holder)
	}
	// Output: held by web-1
}

// A lease that cannot be renewed is lost. The work's context ends, and Do says so even if the work did not notice.
func ExampleLocker_Do_loss() {
	ctx := context.Background()
	locks, err := lockrt.Open(ctx, "memory:", lockrt.Config{Logger: quiet()})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(ctx)

	err = locks.Do(ctx, "import", lockrt.Options{TTL: 30 * time.Second}, func(ctx context.Context, _ *lockrt.Lease) error {
		// Somebody on call breaks the lock.
		if err := locks.Break(context.WithoutCancel(ctx), "import", "it hangs"); err != nil {
			return err
		}
		<-ctx.Done()
		fmt.Println(errors.Is(context.Cause(ctx), lockrt.ErrLost))
		return nil
	})
	fmt.Println(errors.Is(err, lockrt.ErrLost))
	// Output:
	// true
	// true
}

// The resource refuses a write with a lower fence than it has seen.
func ExampleFence() {
	ctx := context.Background()
	locks, err := lockrt.Open(ctx, "memory:", lockrt.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(ctx)

	var highest lockrt.Fence
	write := func(f lockrt.Fence) error {
		if f < highest {
			return fmt.Errorf("stale fence")
		}
		highest = f
		return nil
	}
	var first, second lockrt.Fence
	for _, fence := range []*lockrt.Fence{&first, &second} {
		lease, err := locks.Acquire(ctx, "balance:7", lockrt.Options{TTL: 30 * time.Second})
		if err != nil {
			log.Fatal(err)
		}
		*fence = lease.Fence()
		lease.Release(ctx)
	}
	fmt.Println(write(second), write(first)) // the first holder wakes up late
	// Output: <nil> stale fence
}

// Close at the end of a process: waiting calls return ErrClosed, and what is still held is released at once instead of
// after its TTL.
func ExampleLocker_Close() {
	ctx := context.Background()
	locks, err := lockrt.Open(ctx, "memory:", lockrt.Config{Logger: quiet()})
	if err != nil {
		log.Fatal(err)
	}
	lease, err := locks.Acquire(ctx, "leader", lockrt.Options{TTL: time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(locks.Close(ctx))
	fmt.Println(errors.Is(lease.Err(), lockrt.ErrClosed))
	_, err = locks.Acquire(ctx, "leader", lockrt.Options{TTL: time.Hour})
	fmt.Println(errors.Is(err, lockrt.ErrClosed))
	// Output:
	// <nil>
	// true
	// true
}
