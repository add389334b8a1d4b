package ll1017

import (
	"context"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func sleeps(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{TTL: 5 * time.Second, NoRenew: true})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	time.Sleep(3 * time.Second)
	time.Sleep(3 * time.Second) // want `LL1017: the work takes up to 6s, and the lock from Acquire at line 11 lasts 5s without renewal`
	return nil
}

func waits(ctx context.Context, l *lockrt.Locker) error {
	return l.Do(ctx, "a", lockrt.Options{TTL: time.Second, NoRenew: true}, func(ctx context.Context, _ *lockrt.Lease) error {
		ctx, cancel := context.WithTimeout(ctx, time.Minute) // want `LL1017: the work takes up to 1m0s, and the lock from Do`
		defer cancel()
		<-ctx.Done()
		return nil
	})
}

//lock:key=a,ttl=1s,renew=false
func sleepLocked() {
	time.Sleep(2 * time.Second) // want `LL1017: .* the lock from the wrapper sleep at line 31 lasts 1s without renewal`
}

// Fine.

func renews(ctx context.Context, l *lockrt.Locker) error {
	return l.Do(ctx, "a", lockrt.Options{TTL: time.Second}, func(ctx context.Context, _ *lockrt.Lease) error {
		time.Sleep(time.Minute)
		return nil
	})
}

func shorter(ctx context.Context, l *lockrt.Locker) error {
	return l.Do(ctx, "a", lockrt.Options{TTL: time.Minute, NoRenew: true}, func(ctx context.Context, _ *lockrt.Lease) error {
		time.Sleep(time.Second)
		return nil
	})
}

func unknown(ctx context.Context, l *lockrt.Locker, d time.Duration) error {
	return l.Do(ctx, "a", lockrt.Options{TTL: time.Second, NoRenew: true}, func(ctx context.Context, _ *lockrt.Lease) error {
		time.Sleep(d)
		return nil
	})
}

// Permits.

func fourAtATime(ctx context.Context, l *lockrt.Locker) error {
	return l.Do(ctx, "gpu", lockrt.Options{Permits: 4}, func(context.Context, *lockrt.Lease) error { return nil })
}

func threeAtATime(ctx context.Context, l *lockrt.Locker) error {
	return l.Do(ctx, "gpu", lockrt.Options{Permits: 3}, func(context.Context, *lockrt.Lease) error { return nil }) // want `LL1017: the lock "gpu" is also taken at line \d+, with permits=3 here and permits=4 there: each counts all holders`
}

func alone(ctx context.Context, l *lockrt.Locker) error {
	return l.DoEach(ctx, []lockrt.KeyOptions{{Key: "gpu"}, {Key: "disk", Permits: 2}}, lockrt.Options{}, func(context.Context, lockrt.Leases) error { return nil }) // want `LL1017: the lock "gpu" is also taken at line \d+, with no permits here and permits=4 there: holders of a permit`
}

func sameDisk(ctx context.Context, l *lockrt.Locker, n int) error {
	err := l.Do(ctx, "disk", lockrt.Options{Permits: 2}, func(context.Context, *lockrt.Lease) error { return nil })
	if err != nil {
		return err
	}
	return l.Do(ctx, "disk", lockrt.Options{Permits: n}, func(context.Context, *lockrt.Lease) error { return nil })
}
