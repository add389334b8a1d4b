package etcdtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// lateWatcher lets watches of contenders that name a revision begin behind the present one, once it is late, and hears
// nothing by them: as if the round in which etcd brings them up to the present never came.
type lateWatcher struct {
	etcd.Watcher

	late      atomic.Bool
	elsewhere func()
	fresh     atomic.Int64 // how many began at the present revision
	heard     atomic.Int64 // how many of contenders began that were not late
}

// watched reports whether a waiter watches its own place: it does a while after the one before it.
func (w *lateWatcher) watched() bool { return w.heard.Load() > 1 }

func (w *lateWatcher) Watch(ctx context.Context, key string, o ...etcd.OpOption) etcd.WatchChan {
	if !strings.Contains(key, "/l/") {
		return w.Watcher.Watch(ctx, key, o...)
	}
	if !w.late.Load() {
		w.heard.Add(1)
		return w.Watcher.Watch(ctx, key, o...)
	}
	if etcd.OpGet(key, o...).Rev() == 0 {
		w.fresh.Add(1)
		return w.Watcher.Watch(ctx, key, o...)
	}
	w.elsewhere()
	heard := make(chan etcd.WatchResponse)
	go func() {
		defer close(heard)
		for r := range w.Watcher.Watch(ctx, key, o...) {
			if len(r.Events) > 0 {
				continue
			}
			select {
			case heard <- r:
			case <-ctx.Done():
			}
		}
	}()
	return heard
}

// A cluster is busy with other things between the moment in which a waiter stands in the queue and its watch.
func TestStore_watchThatBeginsBehind(t *testing.T) {
	t.Parallel()
	c := start(t, 1, testetcd.Options{})
	holder := open(t, c.URL())
	lease, err := holder.Acquire(t.Context(), "k", lockrt.Options{TTL: long})
	if err != nil {
		t.Fatal(err)
	}
	client, other := c.client(t), c.client(t)
	watcher := &lateWatcher{Watcher: client.Watcher, elsewhere: func() {
		if _, err := other.Put(t.Context(), "elsewhere", ""); err != nil {
			t.Error(err)
		}
	}}
	client.Watcher = watcher
	watcher.late.Store(true)
	locks, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close(context.Background())
	got := make(chan error, 1)
	go func() {
		lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: time.Minute})
		if err == nil {
			err = lease.Release(context.Background())
		}
		got <- err
	}()
	eventually(t, "the watch begins anew", func() bool { return watcher.fresh.Load() > 0 })
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}

// In a long queue a waiter stands behind one that gives up. What it hears of the next one before it is not late.
func TestStore_watchAfterAnotherGaveUp(t *testing.T) {
	t.Parallel()
	c := start(t, 1, testetcd.Options{})
	others := newLocker(t, c, "others", lockrt.Config{LocalHandoffs: -1})
	acquire(t, others, "k", lockrt.Options{TTL: long})
	client, elsewhere := c.client(t), c.client(t)
	watcher := &lateWatcher{Watcher: client.Watcher, elsewhere: func() {
		if _, err := elsewhere.Put(t.Context(), "elsewhere", ""); err != nil {
			t.Error(err)
		}
	}}
	client.Watcher = watcher
	locks, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close(context.Background())
	const queue = 30
	var leave []context.CancelFunc
	var waiting sync.WaitGroup
	defer waiting.Wait()
	all, stop := context.WithCancel(t.Context())
	defer stop()
	wait := func(locks *lockrt.Locker, n int) {
		ctx, cancel := context.WithCancel(all)
		leave = append(leave, cancel)
		waiting.Go(func() {
			_, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		eventually(t, "it stands in the queue", func() bool {
			info, err := others.Holder(t.Context(), "k")
			return err == nil && len(info.Waiters) == n
		})
	}
	for n := range queue {
		wait(others, n+1)
	}
	wait(locks, queue+1)
	eventually(t, "it watches its own place", watcher.watched)
	watcher.late.Store(true)
	leave[queue-1]()
	eventually(t, "the watch of the next one before it begins anew", func() bool { return watcher.fresh.Load() > 0 })
}
