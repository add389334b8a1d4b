package redisstore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Calls that may take the same time share a timer from the second on, and none gets more than it asked for.
func TestLimits_after_sameLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimits()
		const bound = 300 * time.Millisecond
		began := time.Now()
		var limits []context.Context
		for range 3 {
			limit, over := l.after(bound)
			defer over()
			limits = append(limits, limit)
			if end, ok := limit.Deadline(); !ok || end.Sub(began) > bound || end.Sub(began) < bound-usualShare {
				t.Errorf("the limit ends after %s, want %s, or up to %s less", end.Sub(began), bound, usualShare)
			}
		}
		if limits[1] != limits[2] {
			t.Error("the third call has a timer of its own")
		}
		for _, limit := range limits {
			<-limit.Done()
			if took := time.Since(began); took > bound {
				t.Errorf("the limit ended after %s", took)
			}
			if cause := context.Cause(limit); !errors.Is(limits[0].Err(), context.DeadlineExceeded) ||
				cause.Error() != "the store did not answer within 300ms" {
				t.Errorf("the cause is %v", cause)
			}
		}
	})
}

// Calls with many lengths leave no timers behind.
func TestLimits_after_otherLengths(t *testing.T) {
	l := newLimits()
	for i := range 100 {
		limit, over := l.after(time.Second + time.Duration(i))
		over()
		if limit.Err() == nil {
			t.Fatal("the limit of a call that is over goes on")
		}
	}
}
