package redisstore

import (
	"strconv"
	"testing"
	"time"
)

func TestAcquireScript_freeIsTaken(t *testing.T) {
	r := newRig(t)
	before := r.client.Time(r.ctx).Val()
	a := r.acquire("a", "p", 0)
	if !a.granted || a.since != int64(a.epoch) || a.clock.Micros != a.since {
		t.Fatalf("the answer is %+v, want a grant that begins now, with the clock as its epoch", a)
	}
	if int64(a.epoch) < before.UnixMicro() {
		t.Errorf("epoch %d is behind the server's clock %d", a.epoch, before.UnixMicro())
	}
	if epoch := r.wantOwner("a"); epoch != a.epoch {
		t.Errorf("the lock has epoch %d, the answer %d", epoch, a.epoch)
	}
	if ttl := r.pttl(r.keys.lock); ttl <= 0 || ttl > time.Duration(rigTTL)*time.Millisecond {
		t.Errorf("the lock expires in %s", ttl)
	}
	if lock, floor := r.pttl(r.keys.lock), r.pttl(r.keys.floor); floor <= lock {
		t.Errorf("the floor expires in %s, the lock only in %s", floor, lock)
	}
}

func TestAcquireScript_againIsTheSameGrant(t *testing.T) {
	r := newRig(t)
	first := r.acquire("a", "p", rigLiveness)
	again := r.acquire("a", "p", rigLiveness)
	if !again.granted || again.epoch != first.epoch || again.since != first.since {
		t.Fatalf("first %+v, again %+v", first, again)
	}
	if again.clock.Micros <= again.since {
		t.Errorf("the server's clock is %d at the second answer, the grant was at %d", again.clock.Micros, again.since)
	}
	r.wantQueue()
}

func TestAcquireScript_idsThatBeginAlikeDiffer(t *testing.T) {
	r := newRig(t)
	r.acquire("job-10", "p", 0)
	if a := r.acquire("job-1", "p", 0); a.granted {
		t.Fatal("job-1 was given the lock of job-10")
	}
	r.want("release of job-1", r.release("job-1", 0), 0)
	r.want("cancel of job-1", r.cancel("job-1"), 0)
	r.want("renewal of job-1", r.renew("job-1", rigTTL), 0)
	r.wantOwner("job-10")
}

func TestAcquireScript_busyWithoutWaitingIsNotQueued(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	b := r.acquire("b", "q", 0)
	if b.granted || b.holder != "node p" || b.remaining <= 0 || b.remaining > time.Duration(rigTTL)*time.Millisecond {
		t.Fatalf("the answer is %+v, want busy, held by node p", b)
	}
	r.wantQueue()
	if n := r.client.Exists(r.ctx, r.keys.queue, r.keys.waiters).Val(); n != 0 {
		t.Errorf("%d keys of a queue that nobody stands in", n)
	}
}

func TestAcquireScript_busyIsQueuedOnceInOrderOfArrival(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	// Names that sort otherwise than they arrive.
	for _, id := range []string{"z", "m", "b", "z", "m"} {
		if a := r.acquire(id, "q", rigLiveness); a.granted || a.clock.Micros == 0 {
			t.Fatalf("the answer to %s is %+v", id, a)
		}
	}
	r.wantQueue("z", "m", "b")
}

func TestAcquireScript_expiredLockGoesToTheFirstInQueueNotToWhoAsks(t *testing.T) {
	r := newRig(t)
	in := r.listen("q")
	old := r.acquire("a", "p", 0)
	r.acquire("first", "q", rigLiveness)
	r.acquire("second", "q", rigLiveness)
	r.expire(r.keys.lock)
	if a := r.acquire("barger", "x", 0); a.granted || a.holder != "node q" {
		t.Fatalf("the answer is %+v, want busy, held by node q", a)
	}
	epoch := r.wantOwner("first")
	r.wantQueue("second")
	in.wantNext("grant first " + strconv.FormatUint(epoch, 10) + " ")
	if epoch <= old.epoch {
		t.Errorf("epoch %d after %d", epoch, old.epoch)
	}
}

func TestAcquireScript_pokeOfTheFirstInQueueGrantsToItself(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.acquire("first", "q", rigLiveness)
	r.expire(r.keys.lock)
	if a := r.acquire("first", "q", rigLiveness); !a.granted {
		t.Fatalf("the answer is %+v, want a grant", a)
	}
	r.wantOwner("first")
	r.wantQueue()
}

func TestAcquireScript_pokeAfterALostPushFindsTheGrant(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.acquire("b", "q", rigLiveness)
	r.release("a", 0) // the push goes to nobody
	epoch := r.wantOwner("b")
	if a := r.acquire("b", "q", rigLiveness); !a.granted || a.epoch != epoch {
		t.Fatalf("the answer is %+v, want the grant with epoch %d", a, epoch)
	}
}

func TestAcquireScript_pokeOfASkippedWaiterQueuesAgainAtTheEnd(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.acquire("paused", "q", rigLiveness)
	r.acquire("live", "s", rigLiveness)
	r.acquire("last", "s", rigLiveness)
	r.silence("q")
	r.release("a", 0)
	r.wantOwner("live")
	r.wantQueue("last")
	r.acquire("paused", "q", rigLiveness)
	r.wantQueue("last", "paused")
}

func TestAcquireScript_nobodyLiveInQueue(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.acquire("dead", "q", rigLiveness)
	r.silence("q")
	r.expire(r.keys.lock)
	if a := r.acquire("b", "s", 0); !a.granted {
		t.Fatalf("the answer is %+v; a dead waiter keeps the lock from the living", a)
	}
	r.wantQueue()
}

// The clock may be behind the last epoch: it was set back, or a failover brought another one.
func TestAcquireScript_clockBehindTheFloor(t *testing.T) {
	r := newRig(t)
	ahead := uint64(r.client.Time(r.ctx).Val().Add(time.Hour).UnixMicro())
	if err := r.client.Set(r.ctx, r.keys.floor, ahead, time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3) {
		a := r.acquire("a", "p", 0)
		if !a.granted || a.epoch != ahead+1+i {
			t.Fatalf("acquisition %d: %+v, want epoch %d", i, a, ahead+1+i)
		}
		if a.since >= int64(ahead) || a.clock.Micros != a.since {
			t.Errorf("the lease is counted from %d, which is not the server's clock", a.since)
		}
		r.release("a", 0)
	}
}

func TestAcquireScript_floorOutlivesTheLockAndItsLossLeavesTheClock(t *testing.T) {
	r := newRig(t)
	first := r.acquire("a", "p", 0)
	r.expire(r.keys.lock)
	if floor, err := r.client.Get(r.ctx, r.keys.floor).Uint64(); err != nil || floor != first.epoch {
		t.Fatalf("the floor after the lock's expiry is %d (error %v), want %d", floor, err, first.epoch)
	}
	r.expire(r.keys.floor)
	second := r.acquire("b", "p", 0)
	if second.epoch <= first.epoch || second.epoch != uint64(second.since) {
		t.Errorf("epoch %d after %d and a lost floor, want the clock %d", second.epoch, first.epoch, second.since)
	}
}
