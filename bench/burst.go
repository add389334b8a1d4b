package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// burst runs n goroutines from one starting signal and returns when all have ended: how long that took from the signal,
// and the first error. An error ends the context of the others.
func burst(ctx context.Context, n int, work func(ctx context.Context, i int) error) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		start    = make(chan struct{})
		standing sync.WaitGroup
		running  sync.WaitGroup
		first    sync.Once
		failed   error
	)
	standing.Add(n)
	for i := range n {
		running.Go(func() {
			standing.Done()
			<-start
			if err := work(ctx, i); err != nil {
				first.Do(func() {
					failed = err
					cancel(err)
				})
			}
		})
	}
	standing.Wait()
	begun := time.Now()
	close(start)
	running.Wait()
	return time.Since(begun), failed
}

// warmUpTime bounds the first acquisition of a contender.
const warmUpTime = 30 * time.Second

// warmUp connects, lets the server learn the scripts, and proves that the contender works at all.
func warmUp(ctx context.Context, l locks, key string) error {
	ctx, cancel := context.WithTimeout(ctx, warmUpTime)
	defer cancel()
	unlock, err := l.lock(ctx, key)
	if err != nil {
		return fmt.Errorf("acquire %q, which is free: %w", key, err)
	}
	return unlock(ctx)
}
