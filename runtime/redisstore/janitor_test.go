package redisstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
)

func (s *session) abandonedNow() int { return s.leftovers.Known() }

// A waiter whose requests were all answered is taken out of the queue once, and that is all there is to do.
func TestSession_giveUpThatWasAnsweredIsCancelledOnce(t *testing.T) {
	r := newRig(t)
	s, _ := r.newSession(Config{})
	r.acquire("holder", "p", 0)
	ctx, cancel := context.WithCancel(r.ctx)
	gone := r.waitUntil(ctx, s, "w", time.Hour)
	cancel()
	if a := <-gone; !errors.Is(a.err, context.Canceled) {
		t.Fatal(a.err)
	}
	testsync.Eventually(r.t, "nothing is left to cancel", func() bool { return s.abandonedNow() == 0 })
	r.wantQueue()
}

// The grant of a lease that was given up, and will be cancelled again some time, is a reason to do so now.
func TestSession_grantOfAnAbandonedLeaseIsCancelledAtOnce(t *testing.T) {
	r := newRig(t)
	s, _ := r.newSession(Config{})
	free := func() bool { id, _ := r.owner(); return id == "" }
	r.acquire("w", "p", 0)
	s.leftovers.Doubt("w", r.keys, r.client.Time(r.ctx).Val().Add(time.Hour).UnixMicro())
	s.leftovers.Abandon("w", r.keys, time.Hour)
	testsync.Eventually(r.t, "it is cancelled", free)
	r.acquire("w", "p", 0)
	r.push(s, "grant w 1 1 1000")
	testsync.Eventually(r.t, "the lock is free", free)
}
