package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// sessionHolding opens a session whose Locker believes in the leases with these ids of the rig's lock. What it loses
// arrives on the channel.
func (r *rig) sessionHolding(ids ...string) (*session, <-chan string) {
	r.t.Helper()
	losses := make(chan string, 100)
	held := make([]lockrt.HeldLease, len(ids))
	for i, id := range ids {
		held[i] = lockrt.HeldLease{Key: "k", ID: id}
	}
	opened, err := New(r.client, Config{}).Open(lockrt.SessionConfig{
		Namespace: "lock", Node: "node", Logger: slog.New(slog.DiscardHandler),
		Lost: func(id string, _ error) { testsync.Offer(losses, id) },
		Held: func() []lockrt.HeldLease { return held },
	})
	if err != nil {
		r.t.Fatal(err)
	}
	s := opened.(*session)
	r.t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s, losses
}

// breakUnheard breaks the lease that holds the lock as break.lua does, and nobody is told.
func (r *rig) breakUnheard() {
	r.t.Helper()
	words := strings.SplitN(r.client.Get(r.ctx, r.keys.lock).Val(), " ", 5)
	if len(words) != 5 {
		r.t.Fatalf("the lock is %q", words)
	}
	words[3] = "0"
	if err := r.client.Set(r.ctx, r.keys.lock, strings.Join(words, " "), redis.KeepTTL).Err(); err != nil {
		r.t.Fatal(err)
	}
}

// cutLines closes all subscriptions.
func (r *rig) cutLines() {
	r.t.Helper()
	if n, err := r.client.ClientKillByFilter(r.ctx, "TYPE", "pubsub").Result(); err != nil || n == 0 {
		r.t.Fatalf("%d subscriptions were closed, error %v", n, err)
	}
}

func (r *rig) wantLoss(losses <-chan string, id string) {
	r.t.Helper()
	select {
	case got := <-losses:
		if got != id {
			r.t.Fatalf("%q was lost, want %q", got, id)
		}
	case <-time.After(20 * time.Second):
		r.t.Fatalf("the session does not notice that %q is broken", id)
	}
	r.wantGivenBack()
}

func (r *rig) wantGivenBack() {
	r.t.Helper()
	testsync.Eventually(r.t, "the broken lease is given back", func() bool {
		return r.client.Exists(r.ctx, r.keys.lock).Val() == 0
	})
}

func (r *rig) mustAcquire(s *session, id string) {
	r.t.Helper()
	if _, err := s.Acquire(r.ctx, lockrt.Request{Key: "k", ID: id, TTL: 10 * time.Minute}); err != nil {
		r.t.Fatal(err)
	}
}

// subscribed waits until the session has learnt that it is subscribed.
func (r *rig) subscribed(s *session) {
	r.t.Helper()
	testsync.Eventually(r.t, "the session is subscribed", func() bool {
		return len(r.client.PubSubChannels(r.ctx, s.channel).Val()) == 1
	})
	r.push(s, "nothing")
}

func TestSession_subscribedAgain_asksAboutHeldLeases(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var held atomic.Pointer[string]
	s, losses := r.newSession(Config{}, func(cfg *lockrt.SessionConfig) {
		cfg.Held = func() []lockrt.HeldLease {
			if id := held.Load(); id != nil {
				return []lockrt.HeldLease{{Key: "k", ID: *id}}
			}
			return nil
		}
	})
	r.subscribed(s)
	for _, id := range []string{"a", "b"} {
		r.mustAcquire(s, id)
		held.Store(&id)
		r.breakUnheard()
		r.cutLines()
		for got := range losses { // of one that was lost before it may be told again
			if got == id {
				break
			}
		}
		r.wantGivenBack()
		held.Store(nil) // its Locker would ask no more
	}
}

// The Locker is asked between the answer to an acquire and the moment when it knows of the lease.
func TestSession_subscribedAgain_grantOnItsWay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first, asked := make(chan struct{}, 10), atomic.Int64{}
	s, losses := r.newSession(Config{}, func(cfg *lockrt.SessionConfig) {
		cfg.Held = func() []lockrt.HeldLease {
			if asked.Add(1) == 2 {
				return []lockrt.HeldLease{{Key: "k", ID: "a"}}
			}
			first <- struct{}{}
			return nil
		}
	})
	r.subscribed(s)
	<-first // after the first subscription
	asked.Store(0)
	r.mustAcquire(s, "a")
	r.breakUnheard()
	r.cutLines()
	r.wantLoss(losses, "a")
}

// The answer to an acquire is under way while its lease is broken and the line is cut and made anew: the Locker does
// not know of the lease when it is asked what it holds.
func TestSession_subscribedAgain_answerUnderWay(t *testing.T) {
	for name, wait := range map[string]time.Duration{"at once": 0, "with a wait": lockrt.Forever} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s, _ := r.sessionHolding()
			r.subscribed(s)
			r.mustAcquire(s, "before") // the client knows the scripts and the clock
			r.release("before", 0)
			answers := &slowAnswer{key: r.keys.lock, executed: make(chan struct{}), read: make(chan struct{})}
			r.client.AddHook(answers)
			failed := make(chan error, 1)
			go func() {
				_, err := s.Acquire(r.ctx, lockrt.Request{Key: "k", ID: "a", TTL: 10 * time.Minute, Wait: wait})
				failed <- err
			}()
			<-answers.executed
			r.breakUnheard()
			lines := s.resubscribed.Load()
			r.cutLines()
			testsync.Eventually(t, "the session has its line again", func() bool { return s.resubscribed.Load() > lines })
			close(answers.read)
			if err := <-failed; !errors.Is(err, lockrt.ErrLost) {
				t.Errorf("Acquire returned %v, want ErrLost: the lease is broken", err)
			}
		})
	}
}

// slowAnswer holds the first answer about a lock back.
type slowAnswer struct {
	key            string
	once           sync.Once
	executed, read chan struct{}
}

func (h *slowAnswer) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *slowAnswer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *slowAnswer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if args := cmd.Args(); len(args) > 3 && args[0] == "evalsha" && args[3] == h.key {
			h.once.Do(func() {
				close(h.executed)
				<-h.read
			})
		}
		return err
	}
}

// A waiter that was granted the lock without learning of it, and lost it by force, stands in the queue again when it
// has asked. What was pushed to it before says nothing any more.
func TestSession_grantFromBeforeTheAnswer(t *testing.T) {
	r := newRig(t)
	s, _ := r.newSession(Config{})
	r.acquire("first", "p", 0)
	done := r.wait(s, "a", 10*time.Minute)
	r.push(s, fmt.Sprint("grant a 1 ", r.client.Time(r.ctx).Val().Add(-time.Minute).UnixMicro(), " 600000"))
	r.release("first", 0)
	got := <-done
	if epoch := r.wantOwner("a"); got.err != nil || got.grant.Epoch != epoch {
		t.Errorf("the grant is %+v, error %v, want epoch %d", got.grant, got.err, epoch)
	}
}

// A queue of this process is forgotten while it owns the lock: who waits behind must hear of it.
func TestAliveScript_forgottenQueueOfAnOwner(t *testing.T) {
	r := newRig(t)
	s, _ := r.sessionHolding("a")
	r.mustAcquire(s, "a")
	keys := []string{r.keys.queue, r.keys.waiters, r.keys.lock}
	states, err := aliveScript.Run(r.ctx, r.client, keys, s.channel, 1000).Slice()
	if err != nil {
		t.Fatal(err)
	}
	if own, _ := states[0].([]any); len(own) != 2 || own[0] != "a" || own[1] != int64(-1) {
		t.Errorf("alive.lua answers %v, want the owner and that there is no queue", states)
	}
}
