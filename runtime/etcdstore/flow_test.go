package etcdstore

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testsync"
	"github.com/lockgen/lockgen/internal/timelimit"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// readsKV answers reads while it is up.
type readsKV struct {
	etcd.KV
	mu   sync.Mutex
	down bool
	got  int
}

func (k *readsKV) set(down bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.down = down
}

func (k *readsKV) reads() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.got
}

func (k *readsKV) Get(ctx context.Context, _ string, _ ...etcd.OpOption) (*etcd.GetResponse, error) {
	k.mu.Lock()
	down := k.down
	k.got++
	k.mu.Unlock()
	if down {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return new(etcd.GetResponse), nil
}

// flowing is a session with servers that do what a test says.
func flowing(t *testing.T) (*session, *readsKV) {
	kv := new(readsKV)
	client := new(etcd.Client)
	client.KV = kv
	s := newSession(New(client, Config{}), lockrt.SessionConfig{Logger: slog.New(slog.DiscardHandler)}, newSpace("p/", "n"))
	s.flow.room = mostWrites
	newLimits()
	t.Cleanup(func() {
		s.calls.Close(time.Now().Add(time.Minute))
		newLimits()
	})
	return s, kv
}

// newLimits forgets the contexts of limits, which belong to another clock.
func newLimits() {
	callLimit = timelimit.Shared{Length: callTime, Share: callShare, Cause: errNoAnswer}
	attemptLimit = timelimit.Shared{Length: attemptTime, Share: attemptTime / 10, Cause: errNoAnswer}
}

// writing begins writes that end with what answer says. It tells how many are under way.
func writing(
	ctx context.Context, s *session, n int, r rank, answer <-chan error,
) (underWay func() int, over *sync.WaitGroup) {
	var mu sync.Mutex
	now := 0
	count := func(d int) int {
		mu.Lock()
		defer mu.Unlock()
		now += d
		return now
	}
	over = new(sync.WaitGroup)
	for range n {
		over.Go(func() {
			_, _ = write(ctx, s, r, func(ctx context.Context) (struct{}, error) {
				count(1)
				defer count(-1)
				select {
				case err := <-answer:
					return struct{}{}, err
				case <-ctx.Done():
					return struct{}{}, ctx.Err()
				}
			})
		})
	}
	return func() int { return count(0) }, over
}

func answers(c chan<- error, n int, err error) {
	for range n {
		c <- err
	}
	synctest.Wait()
}

// A write that is late goes on for as long as nothing has had an answer that was sent later, and no other goes meanwhile.
func TestFlow_late(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, kv := flowing(t)
		kv.set(true)
		answer := make(chan error)
		underWay, over := writing(t.Context(), s, 100, continuing, answer)
		synctest.Wait()
		if n := underWay(); n != mostWrites {
			t.Errorf("%d are under way, want %d", n, mostWrites)
		}
		time.Sleep(3 * attemptTime)
		synctest.Wait()
		if n, reads := underWay(), kv.reads(); n != mostWrites || reads == 0 || reads > 20 {
			t.Errorf("%d late ones are under way, want %d; the servers were asked %d times", n, mostWrites, reads)
		}
		answers(answer, mostWrites-fewWrites, nil) // which are late, and make room for none
		if n := underWay(); n != fewWrites {
			t.Errorf("%d are under way after %d answers, want %d", n, mostWrites-fewWrites, fewWrites)
		}
		answers(answer, fewWrites, nil)
		if n := underWay(); n != fewWrites {
			t.Errorf("%d are under way after %d answers, want the next %d", n, mostWrites, fewWrites)
		}
		answers(answer, fewWrites, nil) // each makes room for one more, and each leaves
		if n := underWay(); n != 2*fewWrites {
			t.Errorf("%d are under way after answers in time, want %d", n, 2*fewWrites)
		}
		answers(answer, 36-fewWrites, nil)
		over.Wait()
	})
}

// queueKV answers a read when all is done that was there before.
type queueKV struct {
	etcd.KV
	work chan struct{} // has an element while the server works
}

func (k queueKV) Get(context.Context, string, ...etcd.OpOption) (*etcd.GetResponse, error) {
	k.work <- struct{}{}
	defer func() { <-k.work }()
	return new(etcd.GetResponse), nil
}

// A server is slow from the beginning, and a crowd writes for as long as it may. Its answers are never so late that the
// renewal of a lease, which waits for two of them, has not enough time.
func TestFlow_crowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each, ttl, writers = 100 * time.Millisecond, 10 * time.Second, 60
		s, _ := flowing(t)
		s.flow.room = firstWrites
		s.every[1] = &class{length: classFor(ttl), users: 1}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		server := queueKV{work: make(chan struct{}, 1)}
		s.client.KV = server
		var all sync.WaitGroup
		var worst, done time.Duration // of those who have it
		for range writers {
			all.Go(func() {
				for ctx.Err() == nil {
					_, _ = write(ctx, s, continuing, func(context.Context) (struct{}, error) {
						sent := time.Now()
						server.work <- struct{}{}
						defer func() { <-server.work }()
						time.Sleep(each)
						worst, done = max(worst, time.Since(sent)), done+each
						return struct{}{}, nil
					})
				}
			})
		}
		all.Wait()
		// Two more than there is room for may go in the moment in which answers come.
		if most := ttl/6 + 4*each; 2*worst > most {
			t.Errorf("an answer took %s, and two have to come within %s", worst, most)
		}
		if done < 55*time.Second {
			t.Errorf("the server was busy for %s of a minute", done)
		}
	})
}

// A write that is late is lost when one that was sent later has had an answer: it was at a server that is silent.
func TestFlow_lost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, kv := flowing(t)
		underWay, over := writing(t.Context(), s, 1, beginning, nil)
		began := time.Now()
		over.Wait()
		if took := time.Since(began); took < attemptTime || took > attemptTime*3/2 || kv.reads() == 0 {
			t.Errorf("it was given up after %s and %d reads", took, kv.reads())
		}
		if n := underWay(); n != 0 || len(s.flow.queued) != 0 {
			t.Errorf("%d are under way, and %d count as queued", n, len(s.flow.queued))
		}
	})
}

// What callers leave behind counts until something has had an answer that was sent later.
func TestFlow_left(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, kv := flowing(t)
		kv.set(true)
		ctx, cancel := context.WithCancel(t.Context())
		_, over := writing(ctx, s, mostWrites, beginning, nil)
		synctest.Wait()
		cancel()
		over.Wait()
		short, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		_, err := write(short, s, ending, func(context.Context) (int, error) { return 0, errors.New("it was sent") })
		if !isUnsent(err) || mayHaveRun(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v, want that of a write that was not sent", err)
		}
		kv.set(false)
		if _, err := write(t.Context(), s, ending, func(context.Context) (int, error) { return 0, nil }); err != nil {
			t.Error(err)
		}
	})
}

// A server that refuses writes for the length of its queue is not sent any before it has applied that.
func TestFlow_refused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, kv := flowing(t)
		kv.set(true)
		var tries atomic.Int32
		got := make(chan error, 1)
		go func() {
			_, unanswered, err := rewrite(t.Context(), s, beginning, func(context.Context) (int, error) {
				if tries.Add(1) == 1 {
					return 0, rpctypes.ErrTooManyRequests
				}
				return 0, nil
			})
			if unanswered {
				t.Error("a write that was refused counts as one that may come")
			}
			got <- err
		}()
		time.Sleep(time.Minute)
		if n := tries.Load(); n != 1 {
			t.Errorf("it was sent %d times", n)
		}
		kv.set(false)
		if err := <-got; err != nil || tries.Load() != 2 {
			t.Errorf("it was sent %d times, and the error is %v", tries.Load(), err)
		}
	})
}

// Who ends something goes before those who begin.
func TestFlow_ranks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := flowing(t)
		s.flow.room = 1
		first, then := make(chan error), make(chan error)
		_, over := writing(t.Context(), s, 1, beginning, first)
		synctest.Wait()
		waiting := []rank{beginning, continuing, ending}
		var count [ranks]func() int
		for _, r := range waiting {
			var done *sync.WaitGroup
			count[r], done = writing(t.Context(), s, 4, r, then)
			defer done.Wait()
			synctest.Wait()
		}
		answers(first, 1, nil) // there is room for two
		over.Wait()
		if e, c, b := count[ending](), count[continuing](), count[beginning](); e != 2 || c != 0 || b != 0 {
			t.Errorf("%d, %d and %d are under way, want the first two of those that end something", e, c, b)
		}
		answers(then, 2, nil)
		if e, c, b := count[ending](), count[continuing](), count[beginning](); e != 2 || c != 2 || b != 0 {
			t.Errorf("%d, %d and %d are under way, want the last of the first rank, and two of the next", e, c, b)
		}
		answers(then, 10, nil)
	})
}

// Who cannot have its answer in time is not sent, and nobody waits behind it.
func TestFlow_tooLittleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, kv := flowing(t)
		kv.set(true)
		answer := make(chan error)
		_, over := writing(t.Context(), s, 1, continuing, answer)
		time.Sleep(time.Second)
		answers(answer, 1, nil) // so answers take a second
		over.Wait()
		short, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		sent, gone := writing(short, s, 10, beginning, nil)
		synctest.Wait()
		next, done := writing(t.Context(), s, 1, beginning, answer)
		synctest.Wait()
		if hopeless, n := sent(), next(); hopeless != 0 || n != 1 {
			t.Errorf("%d are under way that have too little time, and %d others, want none and 1", hopeless, n)
		}
		answers(answer, 1, nil) // so they take no time at all
		done.Wait()
		synctest.Wait()
		if n := sent(); n != 10 {
			t.Errorf("%d are under way that have time enough now, want 10", n)
		}
		gone.Wait()
	})
}

// lateTimer is a context whose deadline has passed, and its timer not yet.
type lateTimer struct {
	context.Context
	deadline time.Time
}

func (c lateTimer) Deadline() (time.Time, bool) { return c.deadline, true }

// Who has no time left is not sent, though its context says that it lives.
func TestFlow_noTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := flowing(t)
		ctx, cancel := context.WithCancel(t.Context())
		sent, over := writing(lateTimer{ctx, time.Now()}, s, 10, beginning, nil)
		synctest.Wait()
		if n := sent(); n != 0 {
			t.Errorf("%d are under way", n)
		}
		cancel()
		over.Wait()
	})
}

// Signs of life wait as long as what was sent before them: writes are late if those cannot bear it.
func TestFlow_signsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, used := range []bool{false, true} {
			s, kv := flowing(t)
			kv.set(true)
			c := &class{length: 4 * time.Second}
			s.every[1] = c
			if used {
				c.users = 1
			}
			answer := make(chan error)
			underWay, over := writing(t.Context(), s, 100, continuing, answer)
			synctest.Wait()
			time.Sleep(600 * time.Millisecond)
			answers(answer, mostWrites, nil)
			want := 36
			if used {
				want = fewWrites
			}
			if n := underWay(); n != want {
				t.Errorf("a lease of 4 s is used: %t. After answers that took 600 ms %d are under way, want %d", used, n, want)
			}
			kv.set(false)
			answers(answer, 36, nil)
			over.Wait()
		}
	})
}

// One answer was late, or a write was refused, a while ago. Those who have little time come one after another and leave
// unsent. So few of them do: somebody finds out meanwhile that the servers are quick again.
func TestFlow_hastyOnesAreServedAgain(t *testing.T) {
	for name, harm := range map[string]func(f *flow){
		"a late answer": func(f *flow) { f.delay, f.answered = 300*time.Millisecond, time.Now() },
		"a refusal":     func(f *flow) { f.refused = time.Now() },
	} {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				s, _ := flowing(t)
				harm(&s.flow)
				failed := 0
				for range 100 {
					time.Sleep(time.Second)
					ctx, cancel := context.WithTimeout(t.Context(), 40*time.Millisecond)
					_, err := write(ctx, s, beginning, func(context.Context) (struct{}, error) { return struct{}{}, nil })
					if cancel(); err != nil {
						failed++
					}
				}
				if failed > 1 {
					t.Errorf("%d of 100 were not sent", failed)
				}
			})
		})
	}
}

// askedContext is a context of the caller's own, whose methods may take long.
type askedContext struct {
	context.Context
	asked func()
}

func (c askedContext) Err() error                  { c.asked(); return c.Context.Err() }
func (c askedContext) Deadline() (time.Time, bool) { c.asked(); return c.Context.Deadline() }
func (c askedContext) Done() <-chan struct{}       { c.asked(); return c.Context.Done() }
func (c askedContext) Value(key any) any           { c.asked(); return c.Context.Value(key) }

// Writes of others do not wait for the methods of a caller's context.
func TestFlow_asksNoContextWhileItIsLocked(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		s, kv := flowing(t)
		kv.set(true)
		s.flow.room = 1
		parent, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		asked := 0
		ctx := askedContext{parent, func() {
			if asked++; !s.flow.mu.TryLock() {
				t.Errorf("call %d comes while it is locked", asked)
				return
			}
			s.flow.mu.Unlock()
		}}
		for range 2 { // the second one waits for room
			_, _ = write(ctx, s, beginning, func(ctx context.Context) (struct{}, error) {
				<-ctx.Done()
				return struct{}{}, ctx.Err()
			})
		}
		if _, err := write(ctx, s, beginning, func(context.Context) (struct{}, error) { panic("it is over") }); err == nil {
			t.Error("it was sent behind the end of its context")
		}
		if asked == 0 {
			t.Error("nobody has asked the context")
		}
	})
}
