package zkstore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	"github.com/lockgen/lockgen/internal/timelimit"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/waits"
)

// A wait ends in time where no server can be reached, also one that is as long as a call may take.
func TestAcquire_endsInTime(t *testing.T) {
	for _, wait := range []time.Duration{
		0, callTime / 2, callTime - waits.Grace - time.Millisecond, callTime - waits.Grace, callTime - waits.Grace/2, callTime,
		callTime + waits.Grace, callTime + 3*waits.Grace, 2 * callTime,
	} {
		t.Run(wait.String(), func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				newLimit := func() { callLimit = timelimit.Shared{Length: callTime, Share: callShare, Cause: errNoAnswer} }
				newLimit() // the contexts of limits belong to another clock
				defer newLimit()
				s := newSession(nil, Config{}, lockrt.SessionConfig{})
				defer s.die()
				s.present = &link{s: s, gone: make(chan struct{}), ready: make(chan struct{}), up: make(chan struct{})}
				began := time.Now()
				_, err := s.Acquire(context.Background(), lockrt.Request{Key: "k", ID: "a", TTL: time.Second, Wait: wait})
				least, most := min(wait, callTime), wait
				if wait == 0 {
					least, most = callTime, callTime
				}
				if took := time.Since(began); took < least || took > most+90*time.Millisecond || !errors.Is(err, errNoServer) {
					t.Errorf("it took %s: %v", took, err)
				}
				synctest.Wait()
			})
		})
	}
}
