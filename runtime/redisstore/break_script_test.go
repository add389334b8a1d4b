package redisstore

import (
	"errors"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestBreakScript_nobodyHoldsIt(t *testing.T) {
	r := newRig(t)
	r.want("break", r.brk("test"), 0)
	if n := r.client.DBSize(r.ctx).Val(); n != 0 {
		t.Errorf("%d keys were made", n)
	}
}

func TestBreakScript_tellsTheHolderAndMovesTheFloorOn(t *testing.T) {
	r := newRig(t)
	in := r.listen("p")
	a := r.acquire("a", "p", 0)
	r.want("break", r.brk("a reason with spaces"), 1)
	in.wantNext("lost a a reason with spaces")
	r.wantOwner("")
	if floor, err := r.client.Get(r.ctx, r.keys.floor).Uint64(); err != nil || floor <= a.epoch {
		t.Errorf("the floor is %d (error %v), want more than the broken epoch %d", floor, err, a.epoch)
	}
	for what, n := range map[string]int{"release": r.release("a", 0), "renewal": r.renew("a", rigTTL), "cancel": r.cancel("a")} {
		r.want(what+" of the broken lease", n, 0)
	}
	if b := r.acquire("b", "q", 0); !b.granted || b.epoch <= a.epoch {
		t.Errorf("after the break: %+v, want a grant above epoch %d", b, a.epoch)
	}
}

func TestBreakScript_handsOnToTheFirst(t *testing.T) {
	r := newRig(t)
	in := r.listen("q")
	a := r.acquire("a", "p", 0)
	r.acquire("dead", "x", rigLiveness)
	r.acquire("b", "q", rigLiveness)
	r.silence("x")
	r.want("break", r.brk("test"), 1)
	if epoch := r.wantOwner("b"); epoch <= a.epoch+1 {
		t.Errorf("epoch %d after %d was broken, want more than one above", epoch, a.epoch)
	}
	in.wantNext("grant b ")
}

// Nobody is told that a kept lock is broken: the one who had it has released it, and nothing but pushes to processes may
// be published by a user with the rights that doc.go states.
func TestBreakScript_ofAKeptLock(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.release("a", 5000)
	published := func() int {
		return StatOf(t, r.client.Info(r.ctx, "commandstats").Val(), "cmdstat_publish:calls=")
	}
	before := published()
	r.want("break", r.brk("test"), 1)
	r.wantOwner("")
	if n := published() - before; n > 0 {
		t.Errorf("%d messages were published", n)
	}
}

func TestInspectScript(t *testing.T) {
	r := newRig(t)
	inspect := func(waiters int) (lockrt.LockInfo, error) {
		return parseInfo("k", inspectScript.run(r.ctx, r.client, r.keys.all()[:3], waiters))
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
