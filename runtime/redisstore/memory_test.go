package redisstore

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// outOfMemory makes the server refuse every command that needs memory.
func (r *rig) outOfMemory() {
	r.t.Helper()
	for name, value := range map[string]string{"maxmemory-policy": "noeviction", "maxmemory": "1"} {
		if err := r.client.ConfigSet(r.ctx, name, value).Err(); err != nil {
			r.t.Fatal(err)
		}
	}
}

// A server without memory refuses new locks and lets those that are held end as they should.
func TestScripts_outOfMemory(t *testing.T) {
	for name, end := range map[string]func(r *rig){
		"release": func(r *rig) { r.want("release", r.release("a", 0), 1); r.wantOwner("b") },
		"retain": func(r *rig) {
			r.want("retain", r.release("a", 5000), 1)
			r.wantOwner("-")
			if left := r.pttl(r.keys.lock); left <= 0 {
				r.t.Errorf("the lock is kept for %s", left)
			}
		},
		"cancel": func(r *rig) { r.want("cancel", r.cancel("a"), 1); r.wantOwner("b") },
		"break":  func(r *rig) { r.want("break", r.brk("test", true), 1); r.wantOwner("b") },
		"mark": func(r *rig) {
			r.want("break", r.brk("test", false), 1)
			r.want("renewal", r.renew("a", rigTTL), 2)
		},
		"renew": func(r *rig) { r.want("renewal", r.renew("a", 2*rigTTL), 1) },
		"held":  func(r *rig) { r.want("held", r.held("a"), 1) },
		"alive": func(r *rig) {
			if left, _ := r.alive("q", rigLiveness); left <= 0 {
				r.t.Errorf("alive says that %d ms are left", left)
			}
		},
		"poke": func(r *rig) {
			if a := r.acquire("b", "q", rigLiveness); a.granted || a.holder == "" {
				r.t.Errorf("the poke is told %+v", a)
			}
			r.wantQueue("b")
		},
		"acquire": func(r *rig) {
			r.keys = newKeySpace("lock").keys("other")
			_, err := r.askFor(r.keys, "x", rigTTL, rigTTL+rigRetention, rigLiveness, channelOf("p")+" n", anyTime)
			if err == nil || !strings.Contains(err.Error(), "OOM") {
				r.t.Errorf("a new lock: %v, want OOM", err)
			}
			if n := r.client.Exists(r.ctx, r.keys.all()...).Val(); n != 0 {
				r.t.Errorf("%d keys were made", n)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.acquire("a", "p", 0)
			r.acquire("b", "q", rigLiveness)
			r.outOfMemory()
			end(r)
		})
	}
}

// What other programs write to a floor is no epoch, and leaves no lock taken that nobody holds.
func TestScripts_floorOfAnotherProgram(t *testing.T) {
	for _, floor := range []string{"abc", "", "1e300", "nan", "inf", "-inf", "99999999999999999999", "0x10"} {
		t.Run(floor, func(t *testing.T) {
			r := newRig(t)
			spoil := func() {
				if err := r.client.Set(r.ctx, r.keys.floor, floor, redis.KeepTTL).Err(); err != nil {
					t.Fatal(err)
				}
			}
			spoil()
			a := r.acquire("a", "p", 0)
			if now := uint64(r.client.Time(r.ctx).Val().UnixMicro()); !a.granted || a.epoch == 0 || a.epoch > now {
				t.Errorf("the answer is %+v, want the clock %d as its epoch", a, now)
			}
			r.acquire("b", "q", rigLiveness)
			spoil()
			r.want("release", r.release("a", 0), 1)
			if epoch := r.wantOwner("b"); epoch <= a.epoch || epoch > 1<<53 {
				t.Errorf("epoch %d after %d", epoch, a.epoch)
			}
		})
	}
}

func TestScripts_keysOfAnotherType(t *testing.T) {
	foreign := func(r *rig, key string) {
		r.t.Helper()
		_ = r.client.Del(r.ctx, key).Err()
		if err := r.client.RPush(r.ctx, key, "another program's").Err(); err != nil {
			r.t.Fatal(err)
		}
	}
	t.Run("floor", func(t *testing.T) {
		r := newRig(t)
		foreign(r, r.keys.floor)
		if _, err := r.askFor(r.keys, "a", rigTTL, rigTTL+rigRetention, 0, "c n", anyTime); err == nil {
			t.Error("acquired")
		}
		if n := r.client.Exists(r.ctx, r.keys.lock).Val(); n != 0 {
			t.Error("the lock is taken")
		}
	})
	t.Run("floor, at a release", func(t *testing.T) {
		r := newRig(t)
		r.acquire("a", "p", 0)
		r.acquire("b", "q", rigLiveness)
		foreign(r, r.keys.floor)
		r.want("release", r.release("a", 0), 1)
		r.wantOwner("b")
	})
	t.Run("queue, at a release", func(t *testing.T) {
		r := newRig(t)
		r.acquire("a", "p", 0)
		foreign(r, r.keys.queue)
		if n, err := r.scripts.release.Run(r.ctx, r.client, r.keys.alone(), rigRetention, "a").Int(); n != 1 || err != nil {
			t.Errorf("%d, %v; want a release", n, err)
		}
		if n := r.client.Exists(r.ctx, r.keys.lock).Val(); n != 0 {
			t.Error("the lock is taken")
		}
	})
}
