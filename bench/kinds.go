package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// kindLocks takes leases of one kind, as locks does of exclusive ones.
type kindLocks struct {
	locker  *lockrt.Locker
	options lockrt.Options
	stop    func() error
}

func (l *kindLocks) lock(ctx context.Context, key string) (func(context.Context) error, error) {
	lease, err := l.locker.Acquire(ctx, key, l.options)
	if err != nil {
		return nil, err
	}
	return lease.Release, nil
}

func (l *kindLocks) close() error {
	return errors.Join(l.locker.Close(context.Background()), l.stop())
}

// as returns what takes leases of another kind from the same Locker.
func (l *kindLocks) as(o lockrt.Options) *kindLocks {
	o.TTL, o.Wait = leaseTime, lockrt.Forever
	return &kindLocks{l.locker, o, l.stop}
}

// openKind opens a Locker of its own on the server.
func openKind(at address, o lockrt.Options) (*kindLocks, error) {
	client := at.goRedis()
	locker, err := lockrt.New(redisstore.New(client, redisstore.Config{}), lockrt.Config{Node: "bench"})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return (&kindLocks{locker: locker, stop: client.Close}).as(o), nil
}

// ideal opens Lockers that share memory: the same queue without a server.
func ideal(n int) ([]*kindLocks, error) {
	store := memstore.New()
	var all []*kindLocks
	for range n {
		locker, err := lockrt.New(store, lockrt.Config{Node: "bench"})
		if err != nil {
			return nil, err
		}
		all = append(all, (&kindLocks{locker: locker, stop: func() error { return nil }}).as(lockrt.Options{}))
	}
	return all, nil
}

// inside is a witness: how many have the lock at a time, and who writes.
type inside struct{ readers, writers, most, wrong atomic.Int64 }

func (w *inside) enter(writes bool) (leave func()) {
	if writes {
		if w.writers.Add(1) > 1 || w.readers.Load() > 0 {
			w.wrong.Add(1)
		}
		return func() { w.writers.Add(-1) }
	}
	n := w.readers.Add(1)
	for most := w.most.Load(); n > most && !w.most.CompareAndSwap(most, n); most = w.most.Load() {
	}
	if w.writers.Load() > 0 {
		w.wrong.Add(1)
	}
	return func() { w.readers.Add(-1) }
}

// check fails if a writer was not alone, or more than limit were inside.
func (w *inside) check(limit int64) error {
	if wrong, most := w.wrong.Load(), w.most.Load(); wrong > 0 || most > limit {
		return fmt.Errorf("%w: %d times a writer was not alone; %d were inside, %d may be", errOverlap, wrong, most, limit)
	}
	return nil
}

// work is what a burst has done.
type work struct {
	mu      sync.Mutex
	elapsed time.Duration
	done    []int           // by each goroutine
	waited  []time.Duration // by writers, or by all
	inside  atomic.Int64    // how long all were inside, in ns
}

func (w *work) total() (n int) {
	for _, done := range w.done {
		n += done
	}
	return n
}

func (w *work) starved() (n int) {
	for _, done := range w.done {
		if done == 0 {
			n++
		}
	}
	return n
}

// hold lets n goroutines acquire, stay inside and release, for the slice of time. turn gives each the lock for its next
// turn, and whether it writes.
func hold(ctx context.Context, n int, slice, stay time.Duration, w *inside,
	turn func(i, turn int) (l locks, writes bool)) (*work, error) {
	made := &work{done: make([]int, n)}
	var err error
	made.elapsed, err = burst(ctx, n, func(ctx context.Context, i int) error {
		for end := time.Now().Add(slice); time.Now().Before(end); made.done[i]++ {
			l, writes := turn(i, made.done[i])
			asked := time.Now()
			unlock, err := l.lock(ctx, "kinds")
			if err != nil {
				return err
			}
			waited := time.Since(asked)
			leave, entered := w.enter(writes), time.Now()
			time.Sleep(stay)
			made.inside.Add(int64(time.Since(entered)))
			leave()
			if writes {
				made.mu.Lock()
				made.waited = append(made.waited, waited)
				made.mu.Unlock()
			}
			if err := unlock(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return made, err
}
