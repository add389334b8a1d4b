package etcdstore

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fate is what becomes of a request, and of its answer.
type fate struct {
	there, back time.Duration // how long each takes
	lost        bool          // the request
	mute        bool          // the answer is lost
	refused     error         // instead of an answer, at once
	denied      bool          // a former leader answers signs of life: there are no such leases
}

// calm is the fate of requests when all is well.
var calm = fate{back: time.Millisecond}

// fakeLine is the way of one client to a fakeEtcd: what the client's KV, Lease and Watcher ask for goes over it.
type fakeLine struct {
	pb.KVClient // nil: nobody asks for the rest
	etcd        *fakeEtcd

	mu    sync.Mutex // guards what follows
	name  string     // of what the line does now
	next  func() fate
	heard time.Time // when the last answer came
}

func newFakeLine(e *fakeEtcd) *fakeLine {
	l := &fakeLine{etcd: e}
	l.set("calm", func() fate { return calm })
	return l
}

// store is the store of a process that has the line for itself. Its servers were examined.
func (l *fakeLine) store() *Store {
	client := new(etcd.Client)
	client.KV, client.Lease, client.Watcher = etcd.NewKVFromKVClient(l, nil), fakeLeases{line: l}, fakeWatcher{line: l}
	s := New(client, Config{})
	s.examined.Store(new(findings))
	return s
}

func (l *fakeLine) set(name string, next func() fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name, l.next = name, next
}

func (l *fakeLine) fate() fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next()
}

// state is what the line does now, and when the last answer came.
func (l *fakeLine) state() (name string, heard time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.name, l.heard
}

// send does what a request asks for, when that has come to the servers, even if the caller has left meanwhile.
func send[R any](ctx context.Context, l *fakeLine, do func() (R, error)) (R, error) {
	var none R
	if err := ctx.Err(); err != nil {
		return none, err
	}
	f := l.fate()
	if f.refused != nil {
		return none, f.refused
	}
	type answer struct {
		r   R
		err error
	}
	answers := make(chan answer, 1)
	if !f.lost {
		go func() {
			time.Sleep(f.there)
			r, err := do()
			if time.Sleep(f.back); !f.mute {
				answers <- answer{r, err}
			}
		}()
	}
	select {
	case a := <-answers:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.heard = time.Now()
		return a.r, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

func (l *fakeLine) Range(ctx context.Context, r *pb.RangeRequest, _ ...grpc.CallOption) (*pb.RangeResponse, error) {
	return send(ctx, l, func() (*pb.RangeResponse, error) {
		l.etcd.mu.Lock()
		defer l.etcd.mu.Unlock()
		return l.etcd.read(r), nil
	})
}

func (l *fakeLine) DeleteRange(
	ctx context.Context, r *pb.DeleteRangeRequest, _ ...grpc.CallOption,
) (*pb.DeleteRangeResponse, error) {
	return send(ctx, l, func() (out *pb.DeleteRangeResponse, _ error) {
		l.etcd.mu.Lock()
		defer l.etcd.mu.Unlock()
		l.etcd.change(func() { out = l.etcd.remove(r) })
		out.Header = l.etcd.header()
		return out, nil
	})
}

func (l *fakeLine) Txn(ctx context.Context, r *pb.TxnRequest, _ ...grpc.CallOption) (*pb.TxnResponse, error) {
	return send(ctx, l, func() (*pb.TxnResponse, error) { return l.etcd.transact(r) })
}

type fakeLeases struct {
	etcd.Lease
	line *fakeLine
}

func (x fakeLeases) Grant(ctx context.Context, ttl int64) (*etcd.LeaseGrantResponse, error) {
	return send(ctx, x.line, func() (*etcd.LeaseGrantResponse, error) { return x.line.etcd.grant(ttl), nil })
}

func (x fakeLeases) KeepAliveOnce(ctx context.Context, id etcd.LeaseID) (*etcd.LeaseKeepAliveResponse, error) {
	if x.line.fate().denied {
		return nil, rpctypes.ErrLeaseNotFound
	}
	return send(ctx, x.line, func() (*etcd.LeaseKeepAliveResponse, error) { return x.line.etcd.keepAlive(int64(id)) })
}

func (x fakeLeases) Revoke(ctx context.Context, id etcd.LeaseID) (*etcd.LeaseRevokeResponse, error) {
	return send(ctx, x.line, func() (*etcd.LeaseRevokeResponse, error) {
		return new(etcd.LeaseRevokeResponse), x.line.etcd.end(int64(id), true)
	})
}

type fakeWatcher struct {
	etcd.Watcher
	line *fakeLine
}

// Watch implements etcd.Watcher. No event is lost: they come when the line lets answers through again.
func (x fakeWatcher) Watch(ctx context.Context, key string, o ...etcd.OpOption) etcd.WatchChan {
	out := make(chan etcd.WatchResponse)
	tell := func(r etcd.WatchResponse) {
		x.line.comesThrough(ctx)
		select {
		case out <- r:
		case <-ctx.Done():
		}
	}
	go func() {
		defer close(out)
		watch := etcd.OpGet(key, o...)
		x.line.comesThrough(ctx)
		at, header := x.line.etcd.since(watch.Rev())
		if watch.IsCreatedNotify() {
			tell(etcd.WatchResponse{Header: header, Created: true})
		}
		for ctx.Err() == nil {
			var events []*etcd.Event
			if events, at = x.line.etcd.events(ctx, watch, at); len(events) > 0 {
				revision := events[len(events)-1].Kv.ModRevision
				tell(etcd.WatchResponse{Header: &pb.ResponseHeader{Revision: revision}, Events: events})
			}
		}
	}()
	return out
}

// comesThrough returns when a message of a watch has come through, or when ctx is over.
func (l *fakeLine) comesThrough(ctx context.Context) {
	const again = 100 * time.Millisecond
	for ctx.Err() == nil {
		f := l.fate()
		through := !f.lost && !f.mute && f.refused == nil
		takes := again
		if through {
			takes = f.there + f.back
		}
		select {
		case <-time.After(takes):
		case <-ctx.Done():
		}
		if through {
			return
		}
	}
}

// changes has the line do one thing after another, until ctx is over.
func (l *fakeLine) changes(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		l.set(someWeather(r))
		select {
		case <-time.After(between(r, 200*time.Millisecond, 9*time.Second)):
		case <-ctx.Done():
		}
	}
	l.set("calm", func() fate { return calm })
}

// someWeather is a name for what becomes of all requests for a while.
func someWeather(r *rand.Rand) (name string, next func() fate) {
	all := func(f fate) func() fate { return func() fate { return f } }
	long := between(r, 100*time.Millisecond, 4*time.Second)
	switch own := rand.New(rand.NewPCG(r.Uint64(), 0)); r.IntN(11) {
	case 0:
		return "requests are lost", all(fate{lost: true})
	case 1:
		return "answers are lost", all(fate{mute: true})
	case 2:
		return "requests are late", all(fate{there: long})
	case 3:
		return "answers are late", all(fate{back: long})
	case 4:
		return "answers are slow", all(fate{back: long / 10})
	case 5:
		return "requests are refused", all(fate{refused: status.Error(codes.Unavailable, "of the random test")})
	case 6:
		return "leases are denied", all(fate{lost: true, denied: true})
	case 7:
		return "everything happens", func() fate {
			return []fate{{lost: true}, {mute: true}, {there: between(own, 0, 3*time.Second)}, calm}[own.IntN(4)]
		}
	}
	return "calm", all(calm)
}
