package pace_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
)

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		if !pace.Sleep(ctx, 2*time.Second) || time.Since(began) != 2*time.Second {
			t.Errorf("slept for %s, want the whole 2 s", time.Since(began))
		}
		if pace.Sleep(ctx, 2*time.Second) || time.Since(began) != 3*time.Second {
			t.Errorf("slept until %s, want the end of the context after 3 s", time.Since(began))
		}
	})
}

func TestJitter(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 2, time.Second} {
		for range 100 {
			if got := pace.Jitter(d); got < d/2 || got > d {
				t.Fatalf("Jitter(%s) = %s, want between half of it and it", d, got)
			}
		}
	}
}

func TestBackoff(t *testing.T) {
	var pauses []time.Duration
	for last := time.Duration(0); len(pauses) < 4; pauses = append(pauses, last) {
		last = pace.Backoff(last, 50*time.Millisecond, 150*time.Millisecond)
	}
	want := []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 150 * time.Millisecond, 150 * time.Millisecond}
	for i := range want {
		if pauses[i] != want[i] {
			t.Fatalf("the pauses are %v, want %v", pauses, want)
		}
	}
}

func TestWake_twice(t *testing.T) {
	c := make(chan struct{}, 1)
	pace.Wake(c)
	pace.Wake(c)
	<-c
	select {
	case <-c:
		t.Error("two signals, want one")
	default:
	}
}
