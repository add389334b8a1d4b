package redisstore

import (
	"errors"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestBreakScript_nobodyHoldsIt(t *testing.T) {
	r := newRig(t)
	r.want("break", r.brkLease("a", 1, "test", false), 0)
	if n := r.client.DBSize(r.ctx).Val(); n != 0 {
		t.Errorf("%d keys were made", n)
	}
}

// Break marks the lease that it names, tells its process, and leaves the lock to it.
func TestBreakScript_marksAndTells(t *testing.T) {
	r := newRig(t)
	in := r.listen("p")
	a := r.acquire("a", "p", 0)
	r.acquire("b", "q", rigLiveness)
	before := r.pttl(r.keys.lock)
	for range 2 { // the second one is a repetition
		r.want("break", r.brk("a reason with spaces", false), 1)
		in.wantNext("lost a 8 lock:{k} a reason with spaces")
		r.wantOwner("a")
		if floor, err := r.client.Get(r.ctx, r.keys.floor).Uint64(); err != nil || floor != a.epoch+1 {
			t.Errorf("the floor is %d (error %v), want one more than the broken epoch %d", floor, err, a.epoch)
		}
	}
	if left := r.pttl(r.keys.lock); left > before+time.Second {
		t.Errorf("a lease with %s left has %s after the break", before, left)
	}
	for what, n := range map[string]int{"renewal": r.renew("a", rigTTL), "question": r.held("a")} {
		r.want(what+" of the broken lease", n, 2)
	}
	if again := r.acquire("a", "p", 0); !again.broken {
		t.Errorf("asked for again, the broken lease is %+v", again)
	}
	r.wantQueue("b")
	r.want("release", r.release("a", 0), 1)
	if epoch := r.wantOwner("b"); epoch <= a.epoch+1 {
		t.Errorf("epoch %d after %d was broken, want more than one above", epoch, a.epoch)
	}
}

// The process gives a broken lease back as it likes: the lock goes on.
func TestBreakScript_acknowledged(t *testing.T) {
	for what, end := range map[string]func(r *rig) int{
		"cancel":  func(r *rig) int { return r.cancel("a") },
		"release": func(r *rig) int { return r.release("a", 0) },
		"retain":  func(r *rig) int { return r.release("a", 5000) },
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			r.acquire("a", "p", 0)
			r.acquire("b", "q", rigLiveness)
			r.brk("test", false)
			r.want(what, end(r), 1)
			r.wantOwner("b")
		})
	}
}

// Whoever holds the lock after the lease that is to be broken is not touched.
func TestBreakScript_namesItsLease(t *testing.T) {
	r := newRig(t)
	in := r.listen("p")
	old := r.acquire("a", "p", 0)
	r.release("a", 0)
	next := r.acquire("b", "p", 0)
	r.want("break of the lease before", r.brkLease("a", old.epoch, "test", true), 0)
	r.want("break of another epoch", r.brkLease("b", old.epoch, "test", true), 0)
	r.want("break of another lease", r.brkLease("a", next.epoch, "test", true), 0)
	if epoch := r.wantOwner("b"); epoch != next.epoch || r.renew("b", rigTTL) != 1 {
		t.Error("the lease was touched")
	}
	if sent := in.drain(); len(sent) > 0 {
		t.Errorf("the process was sent %q", sent)
	}
}

func TestBreakScript_forceHandsOnToTheFirst(t *testing.T) {
	r := newRig(t)
	holder, in := r.listen("p"), r.listen("q")
	a := r.acquire("a", "p", 0)
	r.acquire("dead", "x", rigLiveness)
	r.acquire("b", "q", rigLiveness)
	r.silence("x")
	r.want("break", r.brk("test", true), 1)
	if epoch := r.wantOwner("b"); epoch <= a.epoch+1 {
		t.Errorf("epoch %d after %d was broken, want more than one above", epoch, a.epoch)
	}
	holder.wantNext("lost a ")
	in.wantNext("grant b ")
}

// Nobody is told that a kept lock is broken: the one who had it has released it, and nothing but pushes to processes
// may be published by a user with the rights that doc.go states.
func TestBreakScript_ofAKeptLock(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.release("a", 5000)
	published := func() int {
		return StatOf(t, r.client.Info(r.ctx, "commandstats").Val(), "cmdstat_publish:calls=")
	}
	before := published()
	r.want("break", r.brk("test", false), 1)
	r.wantOwner("")
	if n := published() - before; n > 0 {
		t.Errorf("%d messages were published", n)
	}
}

func TestInspectScript(t *testing.T) {
	r := newRig(t)
	inspect := func(waiters int) (lockrt.LockInfo, error) {
		return parseInfo("k", inspectScript.Run(r.ctx, r.client, []string{r.keys.lock, r.keys.queue, r.keys.waiters, r.keys.holders(), r.keys.held()},
			waiters, allHolders))
	}
	if _, err := inspect(2); !errors.Is(err, lockrt.ErrNotHeld) {
		t.Errorf("a free lock: %v, want ErrNotHeld", err)
	}
	a := r.acquire("a", "p", 0)
	r.acquire("b", "q", rigLiveness)
	r.acquire("c", "s", rigLiveness)
	info, err := inspect(2)
	if err != nil || info.ID != "a" || info.Node != "node p" || info.Fence != lockrt.FenceOf(a.epoch) ||
		info.Since.UnixMicro() != a.since || info.Remaining <= 0 {
		t.Errorf("the held lock is %+v (error %v)", info, err)
	}
	if len(info.Waiters) != 2 || info.Waiters[0] != (lockrt.Waiter{ID: "b", Node: "node q"}) || info.Waiters[1].ID != "c" {
		t.Errorf("the waiters are %+v", info.Waiters)
	}
	if info, err := inspect(1); err != nil || len(info.Waiters) != 1 || info.Waiters[0].ID != "b" {
		t.Errorf("the first waiter of two is %+v (error %v)", info.Waiters, err)
	}
	r.release("a", 5000)
	if info, err := inspect(1); err != nil || info.ID != "" || info.Node != "" {
		t.Errorf("a lock that MinHold keeps is %+v (error %v), want one without a holder", info, err)
	}
}
