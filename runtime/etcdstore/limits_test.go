package etcdstore

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/waits"
)

// A bounded context ends with its parent, its limit and its call, and tells why, whoever asks, when, and by which method.
func TestBounded_endsLikeAMergedContext(t *testing.T) {
	asks := map[string]func(context.Context){
		"nobody asks before":    func(context.Context) {},
		"Done was asked for":    func(ctx context.Context) { ctx.Done() },
		"a child was made":      func(ctx context.Context) { context.AfterFunc(ctx, func() {}) },
		"Err was asked for":     func(ctx context.Context) { _ = ctx.Err() },
		"a value was asked for": func(ctx context.Context) { _ = ctx.Value("any") },
	}
	cause := errors.New("the caller's")
	ends := map[string]struct {
		end   func(parent context.CancelCauseFunc, own context.CancelFunc)
		cause error
	}{
		"its parent": {func(parent context.CancelCauseFunc, _ context.CancelFunc) { parent(cause) }, cause},
		"its call":   {func(_ context.CancelCauseFunc, own context.CancelFunc) { own() }, context.Canceled},
		"its limit":  {func(context.CancelCauseFunc, context.CancelFunc) { time.Sleep(2 * callTime) }, errNoAnswer},
	}
	for before, ask := range asks {
		for after, of := range ends {
			t.Run(before+", and then "+after+" ends", func(t *testing.T) {
				testsync.Bubble(t, func(t *testing.T) {
					newLimits()
					parent, end := context.WithCancelCause(context.WithValue(t.Context(), valueKey{}, "value"))
					defer end(nil)
					ctx, cancel := bounded(parent)
					defer cancel()
					ask(ctx)
					if err := ctx.Err(); err != nil || context.Cause(ctx) != nil {
						t.Fatalf("it lives, and its error is %v", err)
					}
					of.end(end, cancel)
					synctest.Wait()
					if ctx.Err() == nil {
						t.Error("Err is nil behind its end")
					}
					child, stop := context.WithCancel(ctx)
					defer stop()
					<-ctx.Done()
					<-child.Done()
					synctest.Wait()
					if got := context.Cause(ctx); got != of.cause {
						t.Errorf("the cause is %v, want %v", got, of.cause)
					}
					if ctx.Value(valueKey{}) != "value" {
						t.Error("the value of the parent is lost")
					}
				})
			})
		}
	}
}

type valueKey struct{}

// An attempt ends with the first of all: the caller's context, what is left of the call, its own time.
func TestWithin_leavesOutNoEndThatComesFirst(t *testing.T) {
	for name, of := range map[string]struct {
		began, parent, want time.Duration // parent 0: it does not end
	}{
		"its own time":        {0, 0, attemptTime},
		"the end of the call": {callTime - attemptTime/3, 0, attemptTime / 3},
		"the caller":          {0, attemptTime / 2, attemptTime / 2},
		"the caller, later":   {callTime - attemptTime/3, attemptTime / 4, attemptTime / 4},
	} {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				newLimits()
				parent, end := context.WithCancel(t.Context())
				defer end()
				ctx, cancel := bounded(parent)
				defer cancel()
				time.Sleep(of.began)
				if of.parent > 0 {
					time.AfterFunc(of.parent, end)
				}
				began := time.Now()
				_, _ = attempt(ctx, func(ctx context.Context) (struct{}, error) {
					<-ctx.Done()
					return struct{}{}, ctx.Err()
				})
				share := callShare + attemptTime/10 // by which shared limits are later
				if took := time.Since(began); took < of.want || took > of.want+share {
					t.Errorf("the attempt took %s, want %s", took, of.want)
				}
				cancel()
				end()
				newLimits()
			})
		})
	}
}

func TestBounded_concurrently(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		for range 100 {
			ctx, cancel := bounded(t.Context())
			var all sync.WaitGroup
			for _, f := range []func(){
				func() { <-ctx.Done() }, func() { _ = ctx.Err() }, func() { _ = within(ctx, attemptLimit.Next()) },
				func() { _ = context.Cause(ctx) }, cancel, cancel,
				func() { child, stop := context.WithCancel(ctx); defer stop(); <-child.Done() },
			} {
				all.Go(f)
			}
			all.Wait()
		}
	})
}

// An attempt that is over leaves nobody behind who waits for a sign of its servers, as long as its call goes on.
func TestUntilLost_endsWithItsAttempt(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		s, servers := flowing(t)
		servers.set(true)
		ctx, cancel := bounded(t.Context())
		defer cancel()
		limited, end := s.untilLost(ctx, time.Now(), attemptTime)
		time.Sleep(attemptTime + attemptTime/5)
		if limited.Err() != nil {
			t.Fatal("the attempt has ended, and no server has answered")
		}
		end()
		synctest.Wait()
		s.flow.mu.Lock()
		late := s.flow.late
		s.flow.mu.Unlock()
		if late != 0 {
			t.Errorf("%d attempts that are over wait to be known as lost", late)
		}
		_, end = s.untilLost(ctx, time.Now(), attemptTime)
		defer end()
		limited, end = s.untilLost(ctx, time.Now(), attemptTime)
		defer end()
		time.Sleep(2 * callTime)
		if limited.Err() == nil {
			t.Error("the attempt outlives its call")
		}
	})
}

// silentServers do not answer.
type silentServers struct {
	etcd.KV
	etcd.Lease
}

func (silentServers) Close() error { return nil }

func (silentServers) Get(ctx context.Context, _ string, _ ...etcd.OpOption) (*etcd.GetResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silentServers) Grant(ctx context.Context, _ int64) (*etcd.LeaseGrantResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A wait ends in time at servers that are silent, also one that is as long as a call may take.
func TestAcquire_endsInTime(t *testing.T) {
	for _, wait := range []time.Duration{
		0, callTime / 2, callTime - waits.Grace - time.Millisecond, callTime - waits.Grace, callTime - waits.Grace/2, callTime,
		callTime + waits.Grace, callTime + 3*waits.Grace, 2 * callTime,
	} {
		t.Run(wait.String(), func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				s, _ := flowing(t)
				s.client.KV, s.client.Lease = silentServers{}, silentServers{}
				s.ground.generation = 1
				began := time.Now()
				_, err := s.Acquire(context.Background(), lockrt.Request{Key: "k", ID: "a", TTL: time.Second, Wait: wait})
				least, most := min(wait, callTime), wait
				if wait == 0 {
					least, most = callTime, callTime
				}
				if took := time.Since(began); took < least || took > most+90*time.Millisecond || !errors.Is(err, errNoAnswer) {
					t.Errorf("it took %s: %v", took, err)
				}
			})
		})
	}
}

// Behind the end of the session nobody finds out what became of a write that is late. Its call tries another server, as
// long as it has time for that.
func TestWrite_triesAgainBehindTheEnd(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		s, servers := flowing(t)
		servers.set(true)
		tried := make(chan struct{}, 100)
		done := make(chan struct{})
		go func() {
			defer close(done)
			ctx, cancel := bounded(t.Context())
			defer cancel()
			_, _, _ = rewrite(ctx, s, ending, func(ctx context.Context) (struct{}, error) {
				tried <- struct{}{}
				<-ctx.Done()
				return struct{}{}, ctx.Err()
			})
		}()
		time.Sleep(attemptTime * 3 / 2) // it is late
		close(s.over)
		<-done
		if n := len(tried); n < 3 {
			t.Errorf("it was tried %d times", n)
		}
	})
}

// lateKV answers a write when that is nearly too late, with a permit's contender before the one that was put. It does not
// answer reads.
type lateKV struct {
	silentServers
	etcd.Watcher
}

func (lateKV) Txn(ctx context.Context) etcd.Txn { return lateTxn{ctx: ctx} }

func (lateKV) Close() error { return nil }

func (lateKV) Watch(context.Context, string, ...etcd.OpOption) etcd.WatchChan { return nil }

type lateTxn struct {
	etcd.Txn
	ctx context.Context
}

func (x lateTxn) If(...etcd.Cmp) etcd.Txn  { return x }
func (x lateTxn) Then(...etcd.Op) etcd.Txn { return x }

func (x lateTxn) Commit() (*etcd.TxnResponse, error) {
	select {
	case <-time.After(callTime - time.Millisecond):
	case <-x.ctx.Done():
		return nil, x.ctx.Err()
	}
	head := &mvccpb.KeyValue{Key: []byte("p/n/head"), Value: []byte(entry{ID: "h", Permits: 1, In: true}.text()), CreateRevision: 1}
	kvs := func(kvs ...*mvccpb.KeyValue) *pb.ResponseOp {
		return &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{
			ResponseRange: &pb.RangeResponse{Kvs: kvs, Count: int64(len(kvs))},
		}}
	}
	return &etcd.TxnResponse{
		Header: &pb.ResponseHeader{Revision: 2}, Succeeded: true, Responses: []*pb.ResponseOp{kvs(), kvs(head)},
	}, nil
}

// The answer of a wait comes at its end, and who holds the lock is a question of its own.
func TestAcquire_endsInTimeWhenItHasToAskWhoHoldsTheLock(t *testing.T) {
	for _, wait := range []time.Duration{callTime - waits.Grace, callTime, callTime + time.Second/2, callTime + time.Second} {
		t.Run(wait.String(), func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				s, _ := flowing(t)
				s.client.KV, s.client.Watcher = lateKV{}, lateKV{}
				s.ground.generation = 1
				s.classes[classFor(time.Minute)] = &class{length: classFor(time.Minute), gone: make(chan struct{})}
				began := time.Now()
				_, err := s.Acquire(context.Background(), lockrt.Request{Key: "k", ID: "a", TTL: time.Minute, Wait: wait})
				if took := time.Since(began); !errors.Is(err, lockrt.ErrBusy) || took > wait+90*time.Millisecond {
					t.Errorf("it took %s: %v", took, err)
				}
			})
		})
	}
}
