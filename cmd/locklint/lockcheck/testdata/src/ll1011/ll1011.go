package ll1011

import (
	"context"
	"sync"

	lockrt "github.com/lockgen/lockgen/runtime"
)

type repo struct{}

func (repo) Save(ctx context.Context) error { return nil }
func (repo) Notify()                        {}

func literal(ctx context.Context, l *lockrt.Locker, r repo) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	go func() { // want `LL1011: this goroutine outlives the section of the lock from Acquire at line 16: r.Save may run after the release`
		r.Save(ctx)
	}()
	return nil
}

func method(ctx context.Context, l *lockrt.Locker, r repo) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(context.Context, *lockrt.Lease) error {
		go r.Save(ctx) // want `LL1011: .* the lock from Do at line 28`
		return nil
	})
}

//lock:key=a,ttl=30s
func saveLocked(ctx context.Context, r repo) error {
	go r.Save(context.Background()) // want `LL1011: .* the lock from the wrapper save`
	return nil
}

// Fine.

func waited(ctx context.Context, l *lockrt.Locker, r repo) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		r.Save(ctx)
	}()
	wg.Wait()
	return nil
}

func waitedByDefer(ctx context.Context, l *lockrt.Locker, r repo) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	done := make(chan struct{})
	defer func() { <-done }()
	go func() {
		defer close(done)
		r.Save(ctx)
	}()
	return nil
}

func received(ctx context.Context, l *lockrt.Locker, r repo) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(context.Context, *lockrt.Lease) error {
		errs := make(chan error)
		go func() { errs <- r.Save(ctx) }()
		return <-errs
	})
}

func bounded(ctx context.Context, l *lockrt.Locker, r repo) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(ctx context.Context, lease *lockrt.Lease) error {
		go r.Save(ctx)
		go func() { r.Save(lease.Context()) }()
		return nil
	})
}

func notifies(ctx context.Context, l *lockrt.Locker, r repo) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	go r.Notify()
	return nil
}

func before(ctx context.Context, l *lockrt.Locker, r repo) error {
	go r.Save(ctx)
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	lease.Release(ctx)
	go r.Save(ctx)
	return nil
}

func releases(ctx context.Context, l *lockrt.Locker, r repo) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	go func() {
		defer lease.Release(ctx)
		r.Save(ctx)
	}()
	return nil
}
