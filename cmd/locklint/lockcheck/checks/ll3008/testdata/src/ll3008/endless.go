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
