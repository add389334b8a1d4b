package redisstore

import (
	"strconv"
	"testing"
	"time"
)

func TestCancelScript_leavesTheQueue(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.acquire("b", "q", rigLiveness)
	r.acquire("c", "q", rigLiveness)
	r.want("cancel", r.cancel("b"), 0)
	r.wantOwner("a")
	r.wantQueue("c")
	r.want("cancel of one that is not there", r.cancel("x"), 0)
	r.wantQueue("c")
}

func TestCancelScript_handsOnAGrantThatCrossed(t *testing.T) {
	r := newRig(t)
	in := r.listen("q")
	r.acquire("a", "p", 0)
	r.acquire("b", "q", rigLiveness)
	r.acquire("c", "q", rigLiveness)
	r.release("a", 0)
	r.want("cancel", r.cancel("b"), 1)
	r.wantOwner("c")
	r.wantQueue()
	if sent := in.drain(); len(sent) != 2 {
		t.Errorf("the process was sent %q, want both grants", sent)
	}
	r.want("cancel of the last", r.cancel("c"), 1)
	r.wantOwner("")
	if n := r.client.Exists(r.ctx, r.keys.waiters).Val(); n != 0 {
		t.Error("the waiters hash is left over")
	}
}

func TestCancelScript_leavesAKeptLockAlone(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.release("a", 5000)
	r.want("cancel", r.cancel("a"), 0)
	r.wantOwner("-")
}

func TestAliveScript_withoutAQueue(t *testing.T) {
	r := newRig(t)
	left, _ := r.alive("p", rigLiveness)
	r.want("alive", left, -1)
	if n := r.client.DBSize(r.ctx).Val(); n != 0 {
		t.Errorf("%d keys were made", n)
	}
}

func TestAliveScript_refreshesTheProcessAndTheQueue(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.acquire("b", "q", rigLiveness)
	r.silence("q")
	for _, key := range []string{r.keys.queue, r.keys.waiters} {
		if err := r.client.PExpire(r.ctx, key, time.Second).Err(); err != nil {
			t.Fatal(err)
		}
	}
	now := r.client.Time(r.ctx).Val().UnixMilli()
	if left, _ := r.alive("q", rigLiveness); left <= 0 || left > int(rigTTL) {
		t.Errorf("alive says that the lease in the way has %d ms left, it was given %d", left, rigTTL)
	}
	until, err := strconv.ParseInt(r.hash()["@"+channelOf("q")], 10, 64)
	if err != nil || until < now+rigLiveness {
		t.Errorf("the process is live until %d (error %v), want %d at least", until, err, now+rigLiveness)
	}
	for _, key := range []string{r.keys.queue, r.keys.waiters} {
		if ttl := r.pttl(key); ttl <= time.Second {
			t.Errorf("%s still expires in %s", key, ttl)
		}
	}
	r.release("a", 0)
	r.wantOwner("b")
}

// Who asks again writes to the queue. However often that is, the queue does not outlive what it says about its waiters.
func TestQueue_expiresWithItsWaiters(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.acquire("b", "q", rigLiveness)
	for range 500 {
		r.acquire("b", "q", rigLiveness)
		r.alive("q", rigLiveness)
	}
	expires := func(key string) time.Duration {
		at, err := r.client.Do(r.ctx, "PEXPIRETIME", key).Int64()
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(at) * time.Millisecond
	}
	// Redis 7.0 reads its clock anew for each command of a script.
	if queue, waiters := expires(r.keys.queue), expires(r.keys.waiters); queue > waiters+100*time.Millisecond {
		t.Errorf("the queue expires %s after its waiters", queue-waiters)
	}
}

// What is made anew expires, too.
func TestAliveScript_waitersAreGone(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.acquire("b", "q", rigLiveness)
	r.expire(r.keys.waiters)
	r.alive("q", rigLiveness)
	if ttl := r.pttl(r.keys.waiters); ttl <= 0 {
		t.Errorf("the waiters expire in %s", ttl)
	}
}

func TestAliveScript_leaseInTheWayIsOver(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.acquire("b", "q", rigLiveness)
	r.expire(r.keys.lock)
	left, _ := r.alive("q", rigLiveness)
	r.want("alive", left, 0)
}

// Processes may be configured with different times; the one that shows itself most often must not make the others'
// places in the queue expire.
func TestQueue_expiryIsNeverShortened(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.acquire("patient", "q", rigLiveness)
	r.acquire("hasty", "s", 100)
	if ttl := r.pttl(r.keys.queue); ttl <= time.Second {
		t.Errorf("acquire.lua of a process with a liveness of 100ms makes everybody's queue expire in %s", ttl)
	}
	r.alive("q", rigLiveness)
	r.alive("s", 100)
	if ttl := r.pttl(r.keys.waiters); ttl <= time.Second {
		t.Errorf("alive.lua of a process with a liveness of 100ms makes everybody's queue expire in %s", ttl)
	}
}
