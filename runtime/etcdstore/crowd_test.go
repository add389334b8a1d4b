package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	etcd "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/waits"
)

// listingLine is a fakeLine on which listings of whole queues have a fate of their own.
type listingLine struct {
	*fakeLine
	fate func(ctx context.Context) error // set before anybody asks; nil: as all others
	on   atomic.Bool
}

func (l *listingLine) Txn(ctx context.Context, r *pb.TxnRequest, o ...grpc.CallOption) (*pb.TxnResponse, error) {
	for _, op := range r.Success {
		if get := op.GetRequestRange(); get != nil && get.KeysOnly && get.Limit == 0 && l.on.Load() {
			if err := l.fate(ctx); err != nil {
				return nil, err
			}
		}
	}
	return l.fakeLine.Txn(ctx, r, o...)
}

// crowdTest is a lock "k" in memory for which a crowd may wait. It runs in a bubble.
type crowdTest struct {
	t    *testing.T
	etcd *fakeEtcd
	all  sync.WaitGroup // the crowd
	open []*session
}

func inCrowdTest(t *testing.T, f func(c *crowdTest)) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		c := &crowdTest{t: t, etcd: newFakeEtcd()}
		f(c)
		c.all.Wait()
		for _, s := range c.open {
			_ = s.Close(context.Background())
		}
		time.Sleep(2 * time.Minute)
		for _, left := range c.etcd.left() {
			t.Errorf("left: %s", left)
		}
	})
}

func (c *crowdTest) session(node string) (*session, *listingLine) {
	line := &listingLine{fakeLine: newFakeLine(c.etcd)}
	client := new(etcd.Client)
	client.KV, client.Lease, client.Watcher = etcd.NewKVFromKVClient(line, nil), fakeLeases{line: line.fakeLine}, fakeWatcher{line: line.fakeLine}
	store := New(client, Config{})
	store.examined.Store(new(findings))
	s, err := store.Open(lockrt.SessionConfig{
		Namespace: "lock", Node: node, Lost: func(string, error) {}, Logger: slog.New(slog.DiscardHandler),
		Held: func() []lockrt.HeldLease { return nil },
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.open = append(c.open, s.(*session))
	return s.(*session), line
}

const crowdTTL = 10 * time.Minute

func takes(ctx context.Context, s *session, id string, wait time.Duration) error {
	_, err := s.Acquire(ctx, lockrt.Request{Key: "k", ID: id, TTL: crowdTTL, Wait: wait})
	return err
}

func gives(s *session, id string) error {
	return s.Release(context.Background(), lockrt.Release{Key: "k", ID: id})
}

// held has a session hold the lock.
func (c *crowdTest) held(by *session) {
	if err := takes(context.Background(), by, "holder", 0); err != nil {
		c.t.Fatal(err)
	}
}

func (c *crowdTest) free(by *session) {
	if err := gives(by, "holder"); err != nil {
		c.t.Error(err)
	}
}

// waits has n wait until they are told to leave, and returns when all stand in the queue.
func (c *crowdTest) waits(s *session, n int, then func(id string, err error)) (leave []context.CancelFunc) {
	for i := range n {
		ctx, end := context.WithCancel(context.Background())
		leave = append(leave, end)
		c.all.Go(func() {
			id := fmt.Sprint("w", i)
			err := takes(ctx, s, id, lockrt.Forever)
			if then != nil && ctx.Err() == nil {
				then(id, err)
			}
		})
		time.Sleep(3 * time.Millisecond) // the order in which they stand
	}
	time.Sleep(time.Second)
	return leave
}

func (c *crowdTest) leave(all []context.CancelFunc) {
	for _, leave := range all {
		leave()
	}
	c.all.Wait()
	time.Sleep(time.Second) // they are taken out of the queue in the background
}

// A crowd was there a moment ago, and the lock is free. Who comes now gets it, if there is time for one answer, also where the
// crowd could not be listed any more.
func TestAcquire_behindAFormerCrowd(t *testing.T) {
	for _, trip := range []time.Duration{2 * time.Millisecond, 30 * time.Millisecond, 450 * time.Millisecond, 900 * time.Millisecond} {
		for _, wait := range []time.Duration{0, time.Millisecond, 50 * time.Millisecond, time.Second, 5 * time.Second, time.Minute} {
			for _, listed := range []bool{true, false} {
				for _, byContext := range []bool{false, true} {
					if 0 < wait && wait < trip && (byContext || waits.Grace < trip) || byContext && wait < trip {
						continue
					}
					t.Run(fmt.Sprint(trip, wait, listed, byContext), func(t *testing.T) {
						inCrowdTest(t, func(c *crowdTest) { c.comesBehind(trip, wait, listed, byContext) })
					})
				}
			}
		}
	}
}

// comesBehind has some come after a crowd. Each waits for as long, itself or by its context.
func (c *crowdTest) comesBehind(trip, wait time.Duration, listed, byContext bool) {
	a, line := c.session("a")
	b, _ := c.session("b")
	line.fate = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	c.held(b)
	c.leave(c.waits(a, 80, nil))
	if _, known := a.queues.Last(a.space.lock("k")); !known {
		c.t.Error("there was no crowd")
	}
	c.free(b)
	line.set("slow", func() fate { return fate{there: trip / 2, back: trip / 2} })
	line.on.Store(!listed)
	for i := range 10 {
		id, ctx, end, most := fmt.Sprint("x", i), context.Background(), func() {}, wait
		if byContext {
			ctx, end = context.WithTimeout(ctx, wait)
			most = lockrt.Forever
		}
		err := takes(ctx, a, id, most)
		if end(); err != nil {
			c.t.Errorf("the lock is free, and try %d fails: %v", i, err)
			return
		}
		if err := gives(a, id); err != nil {
			c.t.Error(err)
		}
	}
}

// The lock has passed on since the crowd has looked last, and all are told who has it.
func TestAcquire_inACrowdNamesTheHolder(t *testing.T) {
	inCrowdTest(t, func(c *crowdTest) {
		a, _ := c.session("a")
		b, _ := c.session("b")
		second, _ := c.session("second")
		c.held(b)
		over, end := context.WithCancel(context.Background())
		c.all.Go(func() {
			if err := takes(over, second, "second", lockrt.Forever); err != nil {
				t.Error(err)
			}
			<-over.Done()
			if err := gives(second, "second"); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Second)
		leave := c.waits(a, 80, nil)
		c.free(b)
		for range 4 {
			time.Sleep(time.Second)
			for _, wait := range []time.Duration{0, time.Millisecond, 2 * time.Millisecond, 50 * time.Millisecond, time.Second} {
				err := takes(context.Background(), a, fmt.Sprint("x", wait), wait)
				if busy, ok := errors.AsType[*lockrt.BusyError](err); !ok || busy.Holder != "second" {
					t.Errorf("wait %s: %v, want that second holds it", wait, err)
				}
			}
		}
		end()
		c.leave(leave)
	})
}

// Those before one of a crowd leave, the last one first, as fast as it can look. etcd answers, so it is not told that etcd is
// silent.
func TestAcquire_inACrowdThatLeavesFromTheBack(t *testing.T) {
	for _, half := range []time.Duration{50 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond} {
		t.Run(half.String(), func(t *testing.T) {
			inCrowdTest(t, func(c *crowdTest) {
				a, line := c.session("a")
				b, _ := c.session("b")
				others, _ := c.session("others")
				c.held(b)
				leave := c.waits(others, 120, nil)
				line.set("slow", func() fate { return fate{there: half, back: half} })
				var last sync.WaitGroup
				last.Go(func() {
					_, err := a.Acquire(context.Background(), lockrt.Request{
						Key: "k", ID: "last", TTL: crowdTTL, Wait: lockrt.Forever,
						Told: func(_ *lockrt.BusyError, err error) {
							if err != nil {
								t.Errorf("it is told: %v", err)
							}
						},
					})
					if err == nil {
						err = gives(a, "last")
					}
					if err != nil {
						t.Error(err)
					}
				})
				time.Sleep(5 * time.Second)
				for i := len(leave) - 1; i >= 0; i-- {
					leave[i]()
					time.Sleep(half)
				}
				c.free(b)
				last.Wait()
			})
		})
	}
}

// What a crowd shares may fail or take long where all else is well. Then each looks for itself.
func TestAcquire_inACrowdWithoutListings(t *testing.T) {
	after := func(d time.Duration) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			select {
			case <-time.After(d):
			case <-ctx.Done():
			}
			return ctx.Err()
		}
	}
	for name, fate := range map[string]func(ctx context.Context) error{
		"too long for the client": func(context.Context) error {
			return status.Error(codes.ResourceExhausted, "grpc: received message larger than max")
		},
		"refused":        func(context.Context) error { return status.Error(codes.PermissionDenied, "no") },
		"slow":           after(time.Second),
		"slower":         after(1900 * time.Millisecond),
		"too slow":       after(2100 * time.Millisecond),
		"never answered": after(time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			inCrowdTest(t, func(c *crowdTest) {
				a, line := c.session("a")
				b, _ := c.session("b")
				line.fate = fate
				c.held(b)
				var served atomic.Int64
				leave := c.waits(a, 100, func(id string, err error) {
					if err != nil {
						t.Errorf("%s: %v", id, err)
						return
					}
					served.Add(1)
					time.Sleep(10 * time.Millisecond)
					if err := gives(a, id); err != nil {
						t.Errorf("%s: %v", id, err)
					}
				})
				line.on.Store(true)
				c.free(b)
				time.Sleep(5 * time.Second)
				if served.Load() == 0 {
					t.Error("the lock is free for 5 s, and none of those who wait for it has it")
				}
				time.Sleep(2 * time.Minute)
				if n := served.Load(); n < 100 {
					t.Errorf("the lock was free for two minutes, and %d of 100 who wait have had it", n)
				}
				c.leave(leave)
			})
		})
	}
}
