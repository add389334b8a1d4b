package fence

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestMemory_Keep_forgetsByAgeOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Memory{Keep: time.Hour}
		check := func(resource string, f lockrt.Fence) error { return m.Check(t.Context(), resource, f) }
		if err := check("a", 7); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if err := check("a", 6); err == nil {
			t.Error("stale fence accepted within Keep")
		}
		time.Sleep(time.Nanosecond)
		if err := check("a", 6); err != nil {
			t.Errorf("after Keep without an accepted request: %v", err)
		}
	})
}

func TestMemory_Keep_boundsTheMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Memory{Keep: time.Hour}
		for i := range 20 * minSweep {
			if i%minSweep == 0 {
				time.Sleep(2 * time.Hour)
			}
			if err := m.Check(t.Context(), strconv.Itoa(i), 1); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(m.marks); n > 3*minSweep {
			t.Errorf("%d marks kept, of %d that are young", n, minSweep)
		}
	})
}

func TestMemory_zero_keepsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(Memory)
		for i := range 4 * minSweep {
			if err := m.Check(t.Context(), strconv.Itoa(i), 2); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * 365 * 24 * time.Hour)
		for i := range 4 * minSweep {
			if err := m.Check(t.Context(), strconv.Itoa(i), 1); err == nil {
				t.Fatalf("mark %d is forgotten", i)
			}
		}
	})
}
