package storeclock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/runtime/internal/storeclock"
)

func TestPair_At(t *testing.T) {
	now := time.Now()
	p := storeclock.Pair{Local: now, Micros: 1000}
	if got := p.At(3500).Sub(now); got != 2500*time.Microsecond {
		t.Errorf("2500 µs later on the server's clock are %s on this one", got)
	}
}

// The request takes a second. The clock must not show less than the server's: a request would refuse itself in time.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := storeclock.New()
		if c.Known() || c.Heard(time.Hour) {
			t.Error("the clock is known before an answer")
		}
		sent := time.Now()
		time.Sleep(time.Second)
		c.Learn(storeclock.Pair{Local: sent, Micros: 5_000_000})
		if got := c.Latest(sent.Add(2 * time.Second)); got != 7_000_000 {
			t.Errorf("2 s after the request the server's clock shows %d µs at the most, want 7 s", got)
		}
		if got := c.When(7_000_000); !got.Equal(sent.Add(2 * time.Second)) {
			t.Errorf("it shows 7 s at %s, want 2 s after the request", got.Sub(sent))
		}
		time.Sleep(time.Minute)
		if c.Heard(time.Minute) || !c.Heard(time.Minute+1) {
			t.Error("the answer came a minute ago")
		}
		c.Forget()
		if c.Known() || c.Heard(time.Hour) {
			t.Error("the clock is known although it was forgotten")
		}
	})
}
