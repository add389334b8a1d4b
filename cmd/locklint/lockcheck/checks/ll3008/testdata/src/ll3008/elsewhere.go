package ll3008

import (
	"context"
	"time"

	"github.com/go-redsync/redsync/v4"
)

// Locks that are released with a context which their object keeps, and a goroutine cancels.

type guarded struct {
	mu     *redsync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
}

func (w *guarded) Lock(ctx context.Context, lost func()) error {
	if err := w.mu.LockContext(ctx); err != nil {
		return err
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	go func() {
		for {
			select {
			case <-time.After(time.Second):
				if ok, err := w.mu.ExtendContext(w.ctx); !ok || err != nil {
					w.cancel()
					lost()
					return
				}
			case <-w.ctx.Done():
				return
			}
		}
	}()
	return nil
}

func (w *guarded) Unlock() error {
	defer w.cancel()
	_, err := w.mu.UnlockContext(w.ctx) // want `LL3008: w.mu.UnlockContext is given a context that a goroutine of Lock cancels: from then on the release fails`
	return err
}

// calm is cancelled by its release alone.
type calm struct {
	mu     *redsync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
}

func (w *calm) Lock(ctx context.Context) error {
	if err := w.mu.LockContext(ctx); err != nil {
		return err
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	go func() {
		for w.ctx.Err() == nil {
			time.Sleep(time.Second)
			w.mu.ExtendContext(w.ctx)
		}
	}()
	return nil
}

func (w *calm) Unlock() error {
	defer w.cancel()
	_, err := w.mu.UnlockContext(w.ctx)
	return err
}

// releasing is released by the goroutine before that cancels.
type releasing struct {
	mu     *redsync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
}

func (w *releasing) Lock(ctx context.Context, over <-chan struct{}) error {
	if err := w.mu.LockContext(ctx); err != nil {
		return err
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	go func() {
		<-over
		w.Unlock()
		w.cancel()
	}()
	return nil
}

func (w *releasing) Unlock() error {
	_, err := w.mu.UnlockContext(w.ctx)
	return err
}
