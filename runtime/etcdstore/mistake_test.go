package etcdstore

import (
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

var silence = fate{lost: true}

// A former leader denies a lease of etcd, and then nobody answers for long enough for its locks to be given up. They were there
// all the time, and go on when their leases are over: others do not wait for the end of the lease of etcd. What MinHold keeps
// stays until then.
func TestLose_byMistake(t *testing.T) {
	const ttl = 10 * time.Minute
	for name, tt := range map[string]struct {
		options lockrt.Options
		release bool          // while nobody answers
		least   time.Duration // after the acquire
	}{
		"a lock":                          {options: lockrt.Options{TTL: ttl}},
		"a permit":                        {options: lockrt.Options{TTL: ttl, Permits: 1, MinHold: ttl}, least: ttl},
		"a lock of no long time":          {options: lockrt.Options{TTL: time.Minute}},
		"a lock that is released":         {options: lockrt.Options{TTL: ttl}, release: true},
		"a lock that is kept for a while": {options: lockrt.Options{TTL: ttl, MinHold: 9 * time.Minute}, release: true, least: 9 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				newLimits()
				defer newLimits()
				e := newFakeEtcd()
				n, former := newIgnorant(t, e)
				other := newRehoused(t, e)
				stays := n.acquire(t, "stays", tt.options)
				lease, began := n.acquire(t, "k", tt.options), time.Now()
				former.answers.Store(1000)
				n.line.set("silent", func() fate { return silence })
				if tt.release {
					n.release(lease)
				}
				for stays.Err() == nil && time.Since(began) < 2*time.Minute {
					time.Sleep(time.Second)
				}
				if stays.Err() == nil {
					t.Fatal("nothing is lost")
				}
				former.answers.Store(0)
				n.line.set("calm", func() fate { return calm })
				o := tt.options
				o.Wait, o.MinHold = time.Hour, 0
				next := other.acquire(t, "k", o)
				if took, most := time.Since(began), tt.options.TTL+2*time.Second; took < tt.least || took > most {
					t.Errorf("it goes on after %s, want from %s to %s", took, tt.least, most)
				}
				other.release(next, other.acquire(t, "stays", o))
				n.release(stays, lease)
				n.close(t)
				other.close(t)
				time.Sleep(time.Minute)
			})
		})
	}
}

// A lease of etcd is given up by mistake, with the locks of others, before, while or after a lock under it is released that
// MinHold keeps.
func TestMinHold_classGivenUpByMistake(t *testing.T) {
	const kept = 3 * time.Minute
	for before := time.Duration(0); before < 80*time.Second; before += 2 * time.Second {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			n, former := newIgnorant(t, e)
			other := newRehoused(t, e)
			o := lockrt.Options{TTL: 10 * time.Minute, MinHold: kept}
			stays := n.acquire(t, "stays", lockrt.Options{TTL: o.TTL})
			lease, began := n.acquire(t, "k", o), time.Now()
			former.answers.Store(1000)
			n.line.set("silent", func() fate { return silence })
			time.Sleep(before)
			most := kept + askAgain
			if lease.Err() != nil {
				most = o.TTL + askAgain // it was lost before
			}
			n.release(lease)
			time.Sleep(90*time.Second - time.Since(began))
			former.answers.Store(0)
			n.line.set("calm", func() fate { return calm })
			next := other.acquire(t, "k", lockrt.Options{TTL: o.TTL, Wait: time.Hour})
			if took := time.Since(began); took < kept || took > most {
				t.Errorf("released after %s: it is kept for %s, want from %s to %s", before, took, kept, most)
			}
			other.release(next, other.acquire(t, "stays", lockrt.Options{TTL: o.TTL, Wait: time.Hour}))
			if took := time.Since(began); took > o.TTL+askAgain {
				t.Errorf("released after %s: another lock that was lost goes on after %s", before, took)
			}
			n.release(stays)
			n.close(t)
			other.close(t)
			time.Sleep(time.Minute)
		})
	}
}

// Nobody answers for minutes when a lock is released, and the lease of etcd lasts longer than that and has other users. The lock
// is free when there are answers again.
func TestRelease_longSilence(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		n, other := newRehoused(t, e), newRehoused(t, e)
		o := lockrt.Options{TTL: 10 * time.Minute}
		stays, lease := n.acquire(t, "stays", o), n.acquire(t, "k", o)
		n.line.set("silent", func() fate { return silence })
		n.release(lease)
		time.Sleep(2 * patience)
		n.line.set("calm", func() fate { return calm })
		began := time.Now()
		o.Wait = time.Minute
		next := other.acquire(t, "k", o)
		if took := time.Since(began); took > longPause+callTime {
			t.Errorf("it is free after %s", took)
		}
		other.release(next)
		if err := stays.Release(t.Context()); err != nil {
			t.Error(err)
		}
		n.close(t)
		other.close(t)
		time.Sleep(time.Minute)
	})
}
