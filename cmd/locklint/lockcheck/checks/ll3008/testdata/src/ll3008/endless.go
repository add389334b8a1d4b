package ll3008

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

// Functions that nobody hands a context which ends.

type steady struct{ lc *redislock.Client }

func (w *steady) Loop() {
	for range time.Tick(time.Second) {
		w.once(context.Background())
	}
}

func (w *steady) once(ctx context.Context) { w.job(ctx, "job") }

func (w *steady) Handle(ctx context.Context, id string) {
	go w.job(context.WithoutCancel(ctx), id)
}

func (w *steady) job(ctx context.Context, id string) {
	lock, err := w.lc.Obtain(ctx, id, time.Minute, nil)
	if err != nil {
		return
	}
	defer lock.Release(ctx)
	_ = work()
}

// deep calls itself.
func (w *steady) Deep() { w.deep(context.Background(), 3) }

func (w *steady) deep(ctx context.Context, n int) {
	lock, err := w.lc.Obtain(ctx, "deep", time.Minute, nil)
	if err != nil {
		return
	}
	defer lock.Release(ctx)
	if n > 0 {
		w.deep(ctx, n-1)
	}
}

// Behind an interface, or as a value, others hand in what they have.

type someJob interface{ run(ctx context.Context) }

type behind struct{ lc *redislock.Client }

func (w *behind) Once() { w.run(context.Background()) }

func Each(ctx context.Context, all []someJob) {
	for _, r := range all {
		r.run(ctx)
	}
}

func (w *behind) run(ctx context.Context) {
	lock, err := w.lc.Obtain(ctx, "behind", time.Minute, nil)
	if err != nil {
		return
	}
	defer lock.Release(ctx) // want `LL3008: lock.Release is given the caller's context`
	_ = work()
}

type asValue struct{ lc *redislock.Client }

func (w *asValue) Once() { w.job(context.Background()) }

func (w *asValue) Jobs() []func(context.Context) { return []func(context.Context){w.job} }

func (w *asValue) job(ctx context.Context) {
	lock, err := w.lc.Obtain(ctx, "value", time.Minute, nil)
	if err != nil {
		return
	}
	defer lock.Release(ctx) // want `LL3008: lock.Release is given the caller's context`
	_ = work()
}
