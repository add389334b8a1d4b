package etcdstore

import (
	"context"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
)

const (
	// watchPause is how long a waiter waits after a watch that failed.
	watchPause = 200 * time.Millisecond
	// fewContenders are so few that each of them may come in within etcd's round of late watches. So may whoever has seen
	// another one go, of however many.
	fewContenders = 16
)

// stand waits until the one before has changed or gone, or for another reason to look again. It returns an error when
// the wait is over.
func (w *waiting) stand(ctx context.Context) error {
	if w.before == nil {
		return w.Late(ctx)
	}
	watching, cancel := context.WithCancel(etcd.WithRequireLeader(ctx))
	defer cancel()
	change, own := make(chan bool, 1), make(chan bool, 1)
	if w.anyone {
		w.watch(watching, change, w.s.space.lock(w.Req.Key), etcd.WithPrefix(), etcd.WithFilterPut())
	} else {
		w.watch(watching, change, string(w.before.Key))
	}
	budget, stop := w.Budget()
	defer stop()
	soon := time.NewTimer(ownDelay)
	defer soon.Stop()
	later := time.NewTimer(askAgain)
	defer later.Stop()
	for {
		select {
		case heard := <-change:
			if w.heard = heard; !heard {
				pace.Sleep(ctx, w.Left(pace.Jitter(watchPause)))
			}
			return w.Late(ctx)
		case <-soon.C:
			w.watch(watching, own, string(w.a.mine.Key))
			continue
		case <-own:
		case <-w.w.poke:
		case <-later.C:
		case <-budget:
			return w.Outcome(nil)
		case <-ctx.Done():
			return w.Outcome(nil)
		}
		return w.Late(ctx)
	}
}

// watch waits in the background for a change of a key, or of one of several. It says false if it cannot tell, because
// the history is gone or the servers have no leader.
func (w *waiting) watch(ctx context.Context, change chan<- bool, key string, o ...etcd.OpOption) {
	since, anew := w.a.rev, len(o) == 0 && (w.moved || w.a.all <= fewContenders)
	w.s.calls.Start(func() { change <- w.changes(ctx, key, since, anew, o...) })
}

// changes returns when a key, or one of several, has changed since a revision, or when ctx is over. A watch that begins
// behind the present revision is brought up to it by etcd every 100 ms only. If it may, it begins anew at the present one,
// and reads the key once, so that a lock that changes hands in a busy cluster is not late, and one whose waiters give up.
// For all who join a long queue that would cost more than it gives.
func (w *waiting) changes(ctx context.Context, key string, since int64, anew bool, o ...etcd.OpOption) bool {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	for r := range w.s.client.Watch(watching, key, append(o, etcd.WithRev(since+1), etcd.WithCreatedNotify())...) {
		switch {
		case r.Err() != nil:
			return false
		case len(r.Events) > 0:
			return true
		case r.Created && r.Header.Revision > since && anew:
			cancel()
			return w.changesFromNow(ctx, key, since)
		}
	}
	return false
}

// changesFromNow is changes by a watch that begins at the present revision.
func (w *waiting) changesFromNow(ctx context.Context, key string, since int64) bool {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	for r := range w.s.client.Watch(watching, key, etcd.WithCreatedNotify()) {
		switch {
		case r.Err() != nil:
			return false
		case len(r.Events) > 0:
			return true
		case r.Created:
			now, err := attempt(ctx, func(ctx context.Context) (*etcd.GetResponse, error) { return w.s.client.Get(ctx, key) })
			if err != nil {
				return false
			}
			if len(now.Kvs) == 0 || now.Kvs[0].ModRevision > since {
				return true
			}
		}
	}
	return false
}

func (c *class) isOver() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}
