// Package pace has what loops are made of that wait: a sleep that can be ended, random spread, and a wake-up.
package pace

import (
	"context"
	"math/rand/v2"
	"time"
)

// Sleep waits for d or for the end of ctx, and reports whether d passed first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Jitter returns between half of d and d. A negative d is an error of the caller.
func Jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// Backoff returns twice the last pause, but at least first and at most most.
func Backoff(last, first, most time.Duration) time.Duration { return min(max(2*last, first), most) }

// Wake leaves a signal in c, which has room for one. A signal that is still there stands for both.
func Wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
