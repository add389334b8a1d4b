package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestRenewScript_extendsAndNeverShortens(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	if err := r.client.PExpire(r.ctx, r.keys.lock, time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	r.want("renewal", r.renew("a", rigTTL), 1)
	long := r.pttl(r.keys.lock)
	if long <= time.Second {
		t.Fatalf("renewed, the lock expires in %s", long)
	}
	r.want("a shorter renewal", r.renew("a", 1000), 1)
	if ttl := r.pttl(r.keys.lock); ttl <= time.Second {
		t.Errorf("a shorter renewal that came late made %s of %s", ttl, long)
	}
}

func TestRenewScript_refusesWhatIsNotTheOwners(t *testing.T) {
	r := newRig(t)
	r.want("renewal of a free lock", r.renew("a", rigTTL), 0)
	if n := r.client.DBSize(r.ctx).Val(); n != 0 {
		t.Fatalf("the renewal of a lost lock made %d keys", n)
	}
	r.acquire("a", "p", 0)
	r.acquire("b", "q", rigLiveness)
	r.want("renewal by one that waits", r.renew("b", rigTTL), 0)
	r.expire(r.keys.lock)
	r.want("renewal after the expiry", r.renew("a", rigTTL), 0)
	r.wantOwner("")
	r.wantQueue("b")
}

func TestRenewScript_manyLeasesAreMatchedOneByOne(t *testing.T) {
	r := newRig(t)
	keys, args := []string{}, []any{rigRetention}
	for i := range 20 {
		r.keys = newKeySpace("lock").keys(fmt.Sprint("key", i))
		r.acquire(fmt.Sprint("id", i), "p", 0)
		if i%3 == 0 {
			r.release(fmt.Sprint("id", i), 0)
		}
		keys = append(keys, r.keys.lock, r.keys.floor)
		args = append(args, fmt.Sprint("id", i), rigTTL)
	}
	renewed, err := ints(renewScript.Run(r.ctx, r.client, keys, args...), 20)
	r.called("renew", err)
	for i, n := range renewed {
		if want := min(int64(i%3), 1); n != want {
			t.Errorf("lease %d: %d, want %d", i, n, want)
		}
	}
}

// A lease that lives for long uses up the floor that was set when it began.
func TestRenewScript_refreshesTheFloorOfALongLease(t *testing.T) {
	r := newRig(t)
	a := r.acquire("a", "p", 0)
	if err := r.client.PExpire(r.ctx, r.keys.floor, time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	r.want("renewal", r.renew("a", rigTTL), 1)
	if ttl := r.pttl(r.keys.floor); ttl > time.Minute {
		t.Errorf("the floor of a young lease was written, which costs: it expires in %s", ttl)
	}
	// The same lease, granted three quarters of the retention ago.
	value := r.client.Get(r.ctx, r.keys.lock).Val()
	since := time.UnixMicro(a.since).Add(-time.Duration(rigRetention) * time.Millisecond * 3 / 4).UnixMicro()
	old := strings.Replace(value, fmt.Sprintf(" %d %d ", a.epoch, a.since), fmt.Sprintf(" %d %d ", a.epoch, since), 1)
	if old == value {
		t.Fatalf("the lock %q is not written as expected", value)
	}
	if err := r.client.Set(r.ctx, r.keys.lock, old, time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	r.want("renewal", r.renew("a", rigTTL), 1)
	if ttl := r.pttl(r.keys.floor); ttl <= time.Duration(rigRetention)*time.Millisecond {
		t.Errorf("the floor of an old lease expires in %s, want more than the retention", ttl)
	}
	if floor := r.client.Get(r.ctx, r.keys.floor).Val(); floor != fmt.Sprint(a.epoch) {
		t.Errorf("the floor is %s, want the lease's epoch %d", floor, a.epoch)
	}
}

// Extend may make a lease far longer than the one that the floor was set for.
func TestRenewScript_floorOutlivesAnExtendedLease(t *testing.T) {
	r := newRig(t)
	r.acquire("a", "p", 0)
	r.want("renewal", r.renew("a", 3*(rigRetention+rigTTL)), 1)
	if lock, floor := r.pttl(r.keys.lock), r.pttl(r.keys.floor); floor <= lock {
		t.Errorf("the floor expires in %s, before the lock in %s", floor, lock)
	}
}
