package etcdtest

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// lateWatcher lets watches of contenders that name a revision begin behind the present one, and hears nothing by them: as
// if the round in which etcd brings them up to the present never came.
type lateWatcher struct {
	etcd.Watcher

	elsewhere func()
	fresh     atomic.Int64 // how many began at the present revision
}

func (w *lateWatcher) Watch(ctx context.Context, key string, o ...etcd.OpOption) etcd.WatchChan {
	if !strings.Contains(key, "/l/") {
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
