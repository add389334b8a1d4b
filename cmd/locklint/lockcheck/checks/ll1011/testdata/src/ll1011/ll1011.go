package ll1011

import (
	"context"
	"sync"
	"time"

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
	go func() { // want `LL1011: this goroutine outlives the section of the lock from Acquire at line 17: r.Save may run after the release`
		r.Save(ctx)
	}()
	return nil
}

func method(ctx context.Context, l *lockrt.Locker, r repo) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(context.Context, *lockrt.Lease) error {
		go r.Save(ctx) // want `LL1011: .* the lock from Do at line 29`
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

// Groups and timers start goroutines, too.

type group struct{}

func (*group) Go(f func() error) {}
func (*group) Wait() error       { return nil }

func grouped(ctx context.Context, l *lockrt.Locker, r repo, g *group) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	g.Go(func() error { return r.Save(ctx) }) // want `LL1011: this goroutine outlives the section .*: r.Save may run after the release`
	return nil
}

func groupWaited(ctx context.Context, l *lockrt.Locker, r repo, g *group) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	g.Go(func() error { return r.Save(ctx) })
	return g.Wait()
}

func later(ctx context.Context, l *lockrt.Locker, r repo) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(context.Context, *lockrt.Lease) error {
		time.AfterFunc(time.Second, func() { r.Save(ctx) }) // want `LL1011: .* r.Save may run after the release`
		time.AfterFunc(time.Second, func() { r.Notify() })
		return nil
	})
}

func saveAll(ctx context.Context, r repo) { r.Save(ctx) }

func declared(ctx context.Context, l *lockrt.Locker, r repo) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(inner context.Context, _ *lockrt.Lease) error {
		go saveAll(ctx, r) // want `LL1011: .* r.Save may run after the release`
		go saveAll(inner, r)
		return nil
	})
}

// Stopped before the lease goes.
func stopped(ctx context.Context, l *lockrt.Locker, r repo) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(context.Context, *lockrt.Lease) error {
		timer := time.AfterFunc(time.Second, func() { r.Save(ctx) })
		defer timer.Stop()
		return nil
	})
}
