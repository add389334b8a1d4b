package ll1014

import (
	"context"
	"log"
	"os"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func work() error { return nil }

func fatal(ctx context.Context, l *lockrt.Locker) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Release(ctx)
	if err := work(); err != nil {
		log.Fatal(err) // want `LL1014: log.Fatal ends the process with the lock from Acquire at line 14 held`
	}
}

func exits(ctx context.Context, l *lockrt.Locker) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		os.Exit(1)
	}
	if work() != nil {
		os.Exit(2) // want `LL1014: os.Exit ends the process`
	}
	lease.Release(ctx)
	os.Exit(0)
}

func inDo(ctx context.Context, l *lockrt.Locker) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		if err := work(); err != nil {
			log.Fatalf("work: %v", err) // want `LL1014: log.Fatalf ends the process with the lock from Do at line 37 held`
		}
		return nil
	})
}

//lock:key=a,ttl=30s
func importLocked(ctx context.Context, l *lockrt.Locker) {
	if work() != nil {
		os.Exit(1) // want `LL1014: os.Exit ends the process with the lock from the wrapper import at line 46 held`
	}
}

// Fine.

func releasedFirst(ctx context.Context, l *lockrt.Locker) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		log.Fatal(err)
	}
	err = work()
	lease.Release(ctx)
	if err != nil {
		log.Fatal(err)
	}
}

func panics(ctx context.Context, l *lockrt.Locker) {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		panic(err)
	}
	defer lease.Release(ctx)
	if work() != nil {
		panic("work") // deferred calls run
	}
}
