package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Close refuses new work with ErrClosed, ends waiting acquires with it, releases every lease that is still held (its
// context is cancelled first, with a cause that wraps ErrLost and ErrClosed), and stops every goroutine of the Locker.
// Work under a lease should therefore have ended before. It blocks for the releases, 5 s at most for each of those that
// are under way when ctx ends; what could not be released by then is free after its TTL. It is idempotent: later calls
// wait for the first and return its result.
func (l *Locker) Close(ctx context.Context) error {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	l.mu.Unlock()
	if first {
		l.closeErr = l.close(ctx)
		close(l.ended)
	}
	<-l.ended
	return l.closeErr
}

func (l *Locker) close(ctx context.Context) error {
	l.stop()
	var errs []error
	if err := l.session.Close(ctx); err != nil {
		errs = append(errs, fmt.Errorf("close lock session: %w", err))
	}
	l.acquiring.Wait() // they have been told to give up, and give back a crossing grant by themselves

	l.mu.Lock()
	var held []*Lease
	for _, g := range l.grants {
		held = append(held, g.turn()) // with no acquire under way, every grant is somebody's; a release is waited for
	}
	l.mu.Unlock()
	// All of them are told before the first release: nobody would end those that ctx leaves no time for.
	for _, lease := range held {
		lease.grant.lose(errClosing)
	}
	errs = append(errs, releaseAll(ctx, held))
	l.stopRenew()
	l.running.Wait()
	l.expirer.stop()
	if l.owned != nil {
		if err := l.owned.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close lock store: %w", err))
		}
	}
	return errors.Join(errs...)
}

// closeReleases is how many releases Close keeps in flight.
const closeReleases = 32

func releaseAll(ctx context.Context, leases []*Lease) error {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		errs  []error
		slots = make(chan struct{}, closeReleases)
	)
	for _, lease := range leases {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			wg.Wait()
			return errors.Join(append(errs, fmt.Errorf("leases left to their TTL: %w", ctx.Err()))...)
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := lease.release(ctx); err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

var errClosing = fmt.Errorf("its Locker was closed: %w", ErrClosed)
