package redisstore

import (
	"testing"
	"time"
)

func TestReleaseScript_freesALockThatNobodyWaitsFor(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.want("release", r.release("a", 0), 1)
	if n := r.client.Exists(r.ctx, r.keys.lock, r.keys.queue, r.keys.waiters).Val(); n != 0 {
		t.Errorf("%d keys are left besides the floor", n)
	}
	r.want("second release", r.release("a", 0), 0)
}

func TestReleaseScript_ofAnotherOwnerChangesNothing(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.acquire("b", "q", rigLiveness)
	for _, keep := range []int64{0, 1000} {
		r.want("release by one that waits", r.release("b", keep), 0)
		r.want("release by a stranger", r.release("x", keep), 0)
	}
	r.wantOwner("a")
	r.wantQueue("b")
	r.expire(r.keys.lock)
	r.want("release of what expired", r.release("a", 0), 0)
	r.wantQueue("b")
}

func TestReleaseScript_handsOnToTheFirstWithItsOwnFullTTL(t *testing.T) {
	r := newRig(t)
	in := r.listen("q")
	a := r.acquire("a", "p", 0)
	if err := r.client.PExpire(r.ctx, r.keys.lock, time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	r.acquire("b", "q", rigLiveness)
	r.acquire("c", "q", rigLiveness)
	r.want("release", r.release("a", 0), 1)
	if epoch := r.wantOwner("b"); epoch <= a.epoch {
		t.Errorf("epoch %d after %d", epoch, a.epoch)
	}
	if ttl := r.pttl(r.keys.lock); ttl <= time.Minute {
		t.Errorf("the new lease ends in %s, with the old one", ttl)
	}
	r.wantQueue("c")
	in.wantNext("grant b ")
}

func TestReleaseScript_skipsDeadWaiters(t *testing.T) {
	r := newRig(t)
	in := r.listen("dead")
	r.acquire("a", "p", 0)
	r.acquire("b", "dead", rigLiveness)
	r.acquire("c", "dead", rigLiveness)
	r.acquire("d", "q", rigLiveness)
	r.silence("dead")
	r.want("release", r.release("a", 0), 1)
	r.wantOwner("d")
	r.wantQueue()
	if sent := in.drain(); len(sent) > 0 {
		t.Errorf("the dead process was sent %q", sent)
	}
}

func TestReleaseScript_onlyDeadWaitersLeaveTheLockFree(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.acquire("b", "dead", rigLiveness)
	r.silence("dead")
	r.want("release", r.release("a", 0), 1)
	r.wantOwner("")
	if n := r.client.Exists(r.ctx, r.keys.lock, r.keys.queue, r.keys.waiters).Val(); n != 0 {
		t.Errorf("%d keys are left besides the floor", n)
	}
}

// A waiter whose entry is gone (it expired a millisecond before the queue) must not stop the hand-on.
func TestReleaseScript_skipsWaitersWithoutAnEntry(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.acquire("b", "q", rigLiveness)
	r.acquire("c", "q", rigLiveness)
	if err := r.client.HDel(r.ctx, r.keys.waiters, "b").Err(); err != nil {
		t.Fatal(err)
	}
	r.want("release", r.release("a", 0), 1)
	r.wantOwner("c")
}

func TestReleaseScript_minHoldKeepsTheLockForNobodyAndTellsTheFirst(t *testing.T) {
	r := newRig(t)
	in := r.listen("q")
	a := r.acquire("a", "p", 0)
	r.acquire("b", "q", rigLiveness)
	r.acquire("c", "q", rigLiveness)
	r.want("release", r.release("a", 5000), 1)
	if epoch := r.wantOwner("-"); epoch != a.epoch {
		t.Errorf("the kept lock has epoch %d, want its last holder's %d", epoch, a.epoch)
	}
	if ttl := r.pttl(r.keys.lock); ttl <= 0 || ttl > 5*time.Second {
		t.Errorf("the lock is kept for %s, want 5s at most", ttl)
	}
	in.wantNext("poke b")
	r.wantQueue("b", "c")
	if b := r.acquire("b", "q", rigLiveness); b.granted || b.holder != "" || b.remaining > 5*time.Second {
		t.Errorf("the answer to the poke is %+v, want the end of the kept time", b)
	}
	r.want("second release", r.release("a", 5000), 0)
	r.want("renewal", r.renew("a", rigTTL), 0)
	r.expire(r.keys.lock)
	if b := r.acquire("b", "q", rigLiveness); !b.granted || b.epoch <= a.epoch {
		t.Errorf("after the kept time: %+v, want a grant above epoch %d", b, a.epoch)
	}
}

func TestReleaseScript_minHoldWithoutWaiters(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.want("release", r.release("a", 5000), 1)
	r.wantOwner("-")
	if b := r.acquire("b", "q", 0); b.granted {
		t.Error("a lock that MinHold keeps was given away")
	}
}

// The floor must remember a kept lock's epoch for longer than the lock does.
func TestReleaseScript_floorOutlivesTheKeptLock(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	keep := 3 * (rigRetention + rigTTL)
	r.want("release", r.release("a", keep), 1)
	if lock, floor := r.pttl(r.keys.lock), r.pttl(r.keys.floor); floor <= lock {
		t.Errorf("the floor expires in %s, before the kept lock in %s", floor, lock)
	}
}
