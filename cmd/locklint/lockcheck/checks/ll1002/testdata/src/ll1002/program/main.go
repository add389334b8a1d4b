package main

import (
	"context"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func work() {}

// A panic in main ends the process, and the lease with it.
func main() {
	ctx := context.Background()
	lease, err := new(lockrt.Locker).Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		panic(err)
	}
	work()
	lease.Release(ctx)
}
