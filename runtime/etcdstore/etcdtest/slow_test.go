package etcdtest

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/etcdstore"
)

// slowKV is a server that applies one write after the other, in the order in which they come, those too whose callers have
// left. A read is answered when all writes before it are applied. If too many are queued it refuses writes.
type slowKV struct {
	etcd.KV
	each   time.Duration // that one takes
	limit  int           // of the queue
	closed chan struct{}

	mu      sync.Mutex
	queue   []func()      // nil is the place of a read
	more    chan struct{} // closed when the queue is not empty any more
	queued  int           // writes
	longest int
	taken   int
	refused int
}

func newSlowKV(t *testing.T, kv etcd.KV, each time.Duration, limit int) *slowKV {
	k := &slowKV{KV: kv, each: each, limit: limit, closed: make(chan struct{}), more: make(chan struct{})}
	over := make(chan struct{})
	go func() {
		defer close(over)
		k.work()
	}()
	t.Cleanup(func() {
		close(k.closed)
		<-over
	})
	return k
}

func (k *slowKV) work() {
	for {
		k.mu.Lock()
		more := k.more
		var next func()
		if len(k.queue) > 0 {
			next, k.queue = k.queue[0], k.queue[1:]
		}
		k.mu.Unlock()
		if next != nil {
			next()
			continue
		}
		select {
		case <-more:
		case <-k.closed:
			return
		}
	}
}

func (k *slowKV) put(do func()) {
	k.queue = append(k.queue, do)
	close(k.more)
	k.more = make(chan struct{})
}

// slowly queues a write, and waits for it as long as ctx lasts.
func slowly[R any](ctx context.Context, k *slowKV, call func() (R, error)) (r R, err error) {
	k.mu.Lock()
	if k.queued >= k.limit {
		k.refused++
		k.mu.Unlock()
		return r, rpctypes.ErrTooManyRequests
	}
	k.taken++
	k.queued++
	k.longest = max(k.longest, k.queued)
	done := make(chan struct{})
	var said R
	var failed error
	each := k.each
	k.put(func() {
		time.Sleep(each) // this is how long it takes
		said, failed = call()
		k.mu.Lock()
		k.queued--
		k.mu.Unlock()
		close(done)
	})
	k.mu.Unlock()
	select {
	case <-done:
		return said, failed
	case <-ctx.Done():
		return r, ctx.Err()
	}
}

// behind waits until what is queued is applied.
func (k *slowKV) behind(ctx context.Context) error {
	done := make(chan struct{})
	k.mu.Lock()
	k.put(func() { close(done) })
	k.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *slowKV) Get(ctx context.Context, key string, o ...etcd.OpOption) (*etcd.GetResponse, error) {
	if err := k.behind(ctx); err != nil {
		return nil, err
	}
	return k.KV.Get(ctx, key, o...)
}

func (k *slowKV) Delete(ctx context.Context, key string, o ...etcd.OpOption) (*etcd.DeleteResponse, error) {
	return slowly(ctx, k, func() (*etcd.DeleteResponse, error) { return k.KV.Delete(context.Background(), key, o...) })
}

func (k *slowKV) Do(ctx context.Context, op etcd.Op) (etcd.OpResponse, error) {
	return slowly(ctx, k, func() (etcd.OpResponse, error) { return k.KV.Do(context.Background(), op) })
}

func (k *slowKV) Txn(ctx context.Context) etcd.Txn {
	commit := func(txn etcd.Txn, thens []etcd.Op) (*etcd.TxnResponse, error) {
		if writes(thens) {
			return slowly(ctx, k, txn.Commit)
		}
		if err := k.behind(ctx); err != nil {
			return nil, err
		}
		return txn.Commit()
	}
	return &watchedTxn{Txn: k.KV.Txn(context.Background()), commit: commit}
}

// A crowd comes to a server that is slower than it. Each of the callers gets its place in the queue, and the server has
// little more to do than that takes: it is not asked again for what it has not come to.
func TestStore_crowdAtASlowServer(t *testing.T) {
	const (
		crowd = 90
		each  = 40 * time.Millisecond
		limit = 400
	)
	for name, tt := range map[string]struct {
		o    lockrt.Options
		keys int
	}{
		"readers":  {lockrt.Options{Mode: lockrt.Read}, 1},
		"permits":  {lockrt.Options{Permits: crowd}, 1},
		"writers":  {lockrt.Options{}, 1},
		"few keys": {lockrt.Options{}, 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits more than it works
			c := start(t, 1, testetcd.Options{})
			holder := newLocker(t, c, "holder", lockrt.Config{})
			for i := range tt.keys {
				acquire(t, holder, fmt.Sprint("k", i), lockrt.Options{TTL: time.Minute})
			}
			client, watcher := c.client(t), c.client(t)
			kv := newSlowKV(t, client.KV, each, limit)
			client.KV = kv
			locks, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), lockrt.Config{
				LocalHandoffs: -1, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var all sync.WaitGroup
			o := tt.o
			o.TTL, o.Wait = time.Minute, lockrt.Forever
			for i := range crowd {
				all.Go(func() {
					for ctx.Err() == nil {
						_, err := locks.Acquire(ctx, fmt.Sprint("k", i%tt.keys), o)
						if ctx.Err() == nil && (err == nil || !silent(err)) {
							t.Errorf("a caller hears %v", err)
							return
						}
					}
				})
			}
			there := 0 // some of them for callers who gave up a moment ago
			eventually(t, "all stand in the queue, or it is hopeless", func() bool {
				time.Sleep(50 * time.Millisecond)
				kv.mu.Lock()
				taken, refused := kv.taken, kv.refused
				kv.mu.Unlock()
				there = contenders(t, watcher) - tt.keys
				return there >= crowd || taken > 20*crowd || refused > 20*crowd
			})
			kv.mu.Lock()
			t.Logf("%d of %d stand in the queue; it took %d writes, of which %d were queued at a time, and %d were refused",
				there, crowd, kv.taken, kv.longest, kv.refused)
			if there < crowd || kv.taken > 15*crowd || kv.longest > crowd || kv.refused > 0 {
				t.Errorf("want at most %d writes, of which %d are queued, and none is refused", 15*crowd, crowd)
			}
			kv.each = 0
			kv.mu.Unlock()
			cancel()
			all.Wait()
			if err := locks.Close(context.Background()); err != nil {
				t.Log(err)
			}
		})
	}
}

// Callers who give up all the time do not keep those from the lock who do not.
func TestStore_impatientCrowdAtASlowServer(t *testing.T) {
	const (
		patient   = 20
		impatient = 20
	)
	c := start(t, 1, testetcd.Options{})
	holder := newLocker(t, c, "holder", lockrt.Config{})
	for _, key := range []string{"k", "other"} {
		acquire(t, holder, key, lockrt.Options{TTL: time.Minute})
	}
	client := c.client(t)
	kv := newSlowKV(t, client.KV, 20*time.Millisecond, 400)
	client.KV = kv
	locks, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), lockrt.Config{
		LocalHandoffs: -1, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := lockrt.Options{TTL: time.Minute, Wait: time.Hour}
	var all sync.WaitGroup
	for range impatient {
		all.Go(func() {
			for ctx.Err() == nil {
				short, end := context.WithTimeout(ctx, 100*time.Millisecond)
				_, _ = locks.Acquire(short, "other", o)
				end()
			}
		})
	}
	for range patient {
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := locks.Acquire(ctx, "k", o); err != nil && ctx.Err() == nil {
					t.Logf("a patient caller hears %v", err)
				}
			}
		})
	}
	there := func() int { return len(waiters(t, holder, "k")) }
	eventually(t, "all stand in the queue, or it is hopeless", func() bool {
		time.Sleep(50 * time.Millisecond)
		kv.mu.Lock()
		taken := kv.taken
		kv.mu.Unlock()
		return there() >= patient || taken > 2000
	})
	kv.mu.Lock()
	taken, longest := kv.taken, kv.longest
	kv.each = 0
	kv.mu.Unlock()
	t.Logf("%d stand in the queue after %d writes, of which %d were queued at a time", there(), taken, longest)
	if there() < patient {
		t.Errorf("want %d", patient)
	}
	cancel()
	all.Wait()
	if err := locks.Close(context.Background()); err != nil {
		t.Log(err)
	}
}

// lookKV counts how waiters look.
type lookKV struct {
	etcd.KV
	whole, brief atomic.Int64 // of the queue, and of their own place
}

func (k *lookKV) Txn(ctx context.Context) etcd.Txn {
	return &watchedTxn{Txn: k.KV.Txn(ctx), commit: func(txn etcd.Txn, thens []etcd.Op) (*etcd.TxnResponse, error) {
		switch {
		case writes(thens):
		case len(thens) >= 3:
			k.whole.Add(1)
		case len(thens) == 0:
			k.brief.Add(1)
		}
		return txn.Commit()
	}}
}

// Waiters who look whether they stand in the queue still do not read the others.
func TestStore_briefLooks(t *testing.T) {
	t.Parallel() // it waits more than it works
	const many = 10
	c := start(t, 1, testetcd.Options{})
	holder := newLocker(t, c, "holder", lockrt.Config{})
	held := acquire(t, holder, "k", lockrt.Options{TTL: time.Minute})
	client := c.client(t)
	kv := &lookKV{KV: client.KV}
	client.KV = kv
	locks, err := lockrt.New(etcdstore.New(client, etcdstore.Config{}), lockrt.Config{LocalHandoffs: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close(context.Background()) })
	var all []<-chan *lockrt.Lease
	for range many {
		all = append(all, waitsAs(t, locks, "k", lockrt.Options{TTL: time.Minute, Wait: time.Hour}))
	}
	time.Sleep(time.Second) // each has read its place; if not, there are more whole looks than are wanted
	before := kv.whole.Load()
	eventually(t, "all look again", func() bool { return kv.brief.Load()+kv.whole.Load()-before >= many })
	if whole := kv.whole.Load() - before; whole > many/2 {
		t.Errorf("%d of the waiters have read the whole queue, and %d their own place", whole, kv.brief.Load())
	}
	release(t, held)
	for _, next := range all {
		release(t, <-next)
	}
}

// contenders counts all that hold a lock or wait for one.
func contenders(t testing.TB, client *etcd.Client) int {
	t.Helper()
	r, err := client.Get(context.Background(), "lockgen/~lock/l/", etcd.WithPrefix(), etcd.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	return int(r.Count)
}
