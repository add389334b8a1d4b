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
		const atOnce = 1000
		m := &Memory{Keep: time.Hour, Max: -1}
		for i := range 20 * atOnce {
			if i%atOnce == 0 {
				time.Sleep(2 * time.Hour)
			}
			if err := m.Check(t.Context(), strconv.Itoa(i), 1); err != nil {
				t.Fatal(err)
			}
		}
		if len(m.marks) != atOnce || m.byAge.Len() != atOnce {
			t.Errorf("%d marks kept, of %d that are young", len(m.marks), atOnce)
		}
	})
}

// Those that are written to stay, whatever else is asked for.
func TestMemory_Max_forgetsTheLongestUnused(t *testing.T) {
	m := &Memory{Max: 100}
	for i := range 10_000 {
		for _, resource := range []string{"used", strconv.Itoa(i)} {
			if err := m.Check(t.Context(), resource, 2); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(m.marks) != 100 || m.byAge.Len() != 100 {
		t.Errorf("%d marks kept, want 100", len(m.marks))
	}
	for _, resource := range []string{"used", "9999", "9901"} {
		if err := m.Check(t.Context(), resource, 1); err == nil {
			t.Errorf("%s is forgotten", resource)
		}
	}
	for _, resource := range []string{"9900", "0"} { // these come back, and others go
		if err := m.Check(t.Context(), resource, 1); err != nil {
			t.Errorf("%s is kept: %v", resource, err)
		}
	}
}

func TestMemory_zero_keepsWithinDefaultMax(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(Memory)
		for i := range DefaultMax + 10 {
			if err := m.Check(t.Context(), strconv.Itoa(i), 2); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * 365 * 24 * time.Hour)
		if len(m.marks) != DefaultMax {
			t.Errorf("%d marks", len(m.marks))
		}
		for i := 10; i < DefaultMax+10; i++ {
			if err := m.Check(t.Context(), strconv.Itoa(i), 1); err == nil {
				t.Fatalf("mark %d is forgotten", i)
			}
		}
	})
}

func TestMemory_Reset(t *testing.T) {
	m := new(Memory)
	m.Reset("a")
	for _, resource := range []string{"a", "b"} {
		if err := m.Check(t.Context(), resource, 9); err != nil {
			t.Fatal(err)
		}
	}
	m.Reset("a")
	if err := m.Check(t.Context(), "a", 8); err != nil {
		t.Errorf("after Reset: %v", err)
	}
	if err := m.Check(t.Context(), "b", 8); err == nil {
		t.Error("Reset of one resource forgot another")
	}
}
