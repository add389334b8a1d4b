package zkstore

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestSigns(t *testing.T) {
	t0 := time.Now()
	at := func(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }
	s := signs{timeout: 10 * time.Second, tick: 2 * time.Second}
	certain := func(want int) {
		t.Helper()
		if got := s.certain().Sub(t0).Milliseconds(); got != int64(want) {
			t.Errorf("certain is %d ms, want %d", got, want)
		}
	}
	s.shaken(at(0))
	certain(0)
	s.touched(at(1000))
	s.touched(at(2000))
	certain(0) // reads prove nothing
	s.wrote(at(3900))
	certain(1000) // what is younger than a tick may be unknown
	s.wrote(at(4000))
	certain(2000)
	s.shaken(at(5000))
	s.touched(at(5500))
	certain(2000) // a handshake needs a write after it
	s.wrote(at(5100))
	certain(5000)
	if latest := s.latest(4 * time.Second).Sub(t0); latest != 11*time.Second {
		t.Errorf("a lease of 4 s may begin at %s, want 11 s", latest)
	}
	if most := s.maxTTL(); most != 6*time.Second {
		t.Errorf("the longest lease has %s, want 6 s", most)
	}
}

// However signs come, what is certain grows, is not younger than a tick before the last write or a handshake before it,
// and the signs that are kept stay few.
func TestSigns_random(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	t0 := time.Now()
	s := signs{timeout: 10 * time.Second, tick: 2 * time.Second}
	s.shaken(t0)
	now, write, shaken := t0, t0, []time.Time{t0}
	for range 10_000 {
		now = now.Add(time.Duration(random.IntN(500)) * time.Millisecond)
		before := s.certain()
		switch sent := now.Add(-time.Duration(random.IntN(1000)) * time.Millisecond); random.IntN(10) {
		case 0:
			s.shaken(now)
			shaken = append(shaken, now)
		case 1, 2, 3:
			s.wrote(sent)
			if sent.After(write) {
				write = sent
			}
		default:
			s.touched(sent)
		}
		c := s.certain()
		if c.Before(before) {
			t.Fatalf("what is certain went back by %s", before.Sub(c))
		}
		if c.After(write) || c.After(write.Add(-s.tick)) && !slices.Contains(shaken, c) {
			t.Fatalf("certain is %s before the last write", write.Sub(c))
		}
		if len(s.soft) > 50 {
			t.Fatalf("%d signs are kept", len(s.soft))
		}
	}
}

func TestLineUp(t *testing.T) {
	contenders, kept := contendersOf([]string{"a~0000000003", "b%7E~0000000001", "~c", "foreign", "a%7Eb~0000000002", "d~-2147483648",
		"%61~0000000004", "a~b~0000000005"}) // the last two are not written as ours are
	var names []string
	for _, c := range contenders {
		names = append(names, c.id)
	}
	if !slices.Equal(names, []string{"a", "b~", "a~b", "d"}) || !slices.Equal(kept, []string{"~c"}) {
		t.Errorf("contenders %q, kept %q", names, kept)
	}
	if isOrdered(contenders) || !isOrdered(contenders[:3]) {
		t.Error("a number below zero tells the order")
	}
	if last := []child{{number: 1<<31 - 1}}; isOrdered(last) {
		t.Error("the last number tells the order, although others have it too")
	}
}
