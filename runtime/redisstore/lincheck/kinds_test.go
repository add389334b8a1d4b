package lincheck

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// allKinds is a mix of all ways to use one lock. Half of those who wait for it read.
var allKinds = []visit{
	{}, {downgrades: true},
	{Options: lockrt.Options{Mode: lockrt.Read}}, {Options: lockrt.Options{Mode: lockrt.Read}},
	{Options: lockrt.Options{Mode: lockrt.Read}}, {Options: lockrt.Options{Mode: lockrt.Read}},
	{Options: lockrt.Options{Permits: 2}}, {Options: lockrt.Options{Permits: 3}},
}

var (
	// mixed is so much that somebody always waits.
	mixed = load{clients: 9, rounds: 40, kinds: allKinds, stays: 2 * time.Millisecond}
	// idle is so little that mostly nobody does.
	idle = load{clients: 4, rounds: 60, kinds: allKinds[1:4], stays: 5 * time.Millisecond, pauses: 10 * time.Millisecond}
	// scarce are permits alone, now and then more than there are.
	scarce = load{clients: 4, rounds: 60, kinds: allKinds[6:], stays: 5 * time.Millisecond, pauses: 5 * time.Millisecond}
)

// orders are with and without hand-offs within a process, where readers share one holder at the store.
var orders = map[string]lockrt.Config{"handing on locally": {}, "strict order": {LocalHandoffs: -1}}

func TestLinearizable_kinds(t *testing.T) {
	server := testenv.Redis(t)
	n := seed(t)
	for name, cfg := range orders {
		t.Run(name, func(t *testing.T) {
			cfg.Namespace = name
			mixed.run(t, newLockers(t, server.Addr(), 3, cfg), n).mustBe(t, porcupine.Ok)
		})
	}
	t.Run("nobody waits", func(t *testing.T) {
		lockers := newLockers(t, server.Addr(), 4, lockrt.Config{Namespace: "idle"})
		idle.run(t, lockers, n).mustBe(t, porcupine.Ok)
	})
	t.Run("permits alone", func(t *testing.T) {
		lockers := newLockers(t, server.Addr(), 4, lockrt.Config{Namespace: "scarce"})
		scarce.run(t, lockers, n).mustBe(t, porcupine.Ok)
	})
	t.Run("leases run out", func(t *testing.T) {
		lockers := newLockers(t, server.Addr(), 3, lockrt.Config{Namespace: "short"})
		load{clients: 6, rounds: 20, kinds: allKinds, hangs: true}.run(t, lockers, n).mustBe(t, porcupine.Ok)
	})
}

func TestLinearizable_kindsAnswersLost(t *testing.T) {
	server := testenv.Redis(t)
	n := seed(t)
	lockers := make([]*lockrt.Locker, 3)
	for i := range lockers {
		c := newChaos(t, server.Addr(), n+uint64(i), 15)
		lockers[i] = newLocker(t, c.ln.Addr().String(), 0, lockrt.Config{})
	}
	h := load{clients: 6, rounds: 25, kinds: allKinds, stays: time.Millisecond, hangs: true}.run(t, lockers, n)
	h.mustBe(t, porcupine.Ok)
}

func TestLinearizable_kindsInMemory(t *testing.T) {
	n := seed(t)
	for name, cfg := range orders {
		t.Run(name, func(t *testing.T) {
			store := memstore.New()
			lockers := make([]*lockrt.Locker, 3)
			for i := range lockers {
				cfg.Logger = slog.New(slog.DiscardHandler)
				locks, err := lockrt.New(store, cfg)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = locks.Close(context.Background()) })
				lockers[i] = locks
			}
			mixed.run(t, lockers, n).mustBe(t, porcupine.Ok)
		})
	}
}

// What the checker must refuse, and what it must not: if it took all, it would prove nothing.
func TestSequential_rules(t *testing.T) {
	write := func(fence lockrt.Fence) share { return share{fence: lockrt.FenceOf(uint64(fence)), slot: -1} }
	read := func(fence lockrt.Fence) share {
		s := write(fence)
		s.mode = lockrt.Read
		return s
	}
	permit := func(fence lockrt.Fence, permits, slot int) share {
		s := write(fence)
		s.permits, s.slot = permits, slot
		return s
	}
	passed := func(s share) share {
		s.fence++
		return s
	}
	tests := []struct {
		name string
		held []share // at the same time, in this order
		then []share // when all those have been released
		ok   bool
	}{
		{"one writer", []share{write(1)}, nil, true},
		{"writers after each other", []share{write(1)}, []share{write(2)}, true},
		{"two writers", []share{write(1), write(2)}, nil, false},
		{"a fence that falls", []share{write(2)}, []share{write(1)}, false},
		{"a fence twice", []share{write(1)}, []share{write(1)}, false},
		{"readers together", []share{read(1), read(1)}, []share{write(2)}, true},
		{"readers with two fences", []share{read(1), read(2)}, nil, false},
		{"a reader beside a writer", []share{write(1), read(1)}, nil, false},
		{"a writer beside a reader", []share{read(1), write(2)}, nil, false},
		{"a writer with the readers' fence", []share{read(1)}, []share{write(1)}, false},
		{"a reader with the writer's fence", []share{write(1)}, []share{read(1)}, false},
		{"a reader beside a permit", []share{permit(1, 2, 0), read(2)}, nil, false},
		{"a writer beside a permit", []share{permit(1, 2, 0), write(2)}, nil, false},
		{"two permits", []share{permit(1, 2, 0), permit(2, 2, 1)}, []share{permit(3, 2, 0)}, true},
		{"three of two permits", []share{permit(1, 2, 0), permit(2, 2, 1), permit(3, 2, 2)}, nil, false},
		{"a slot twice", []share{permit(1, 2, 0), permit(2, 2, 0)}, nil, false},
		{"a slot above the limit", []share{permit(1, 2, 2)}, nil, false},
		{"a slot's fence that falls", []share{permit(2, 2, 0)}, []share{permit(1, 2, 0)}, false},
		{"a permit below a writer", []share{write(2)}, []share{permit(1, 2, 0)}, false},
		{"three for one who says two", []share{permit(1, 3, 0), permit(2, 3, 1), permit(3, 2, 2)}, nil, false},
		{"a permit that is passed on", []share{permit(1, 2, 0)}, []share{passed(permit(1, 2, 0))}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := newHistory()
			at, n := int64(0), 0
			add := func(a action, s share) {
				h.add(s.lease, a, s, at, at+1)
				at += 2
			}
			for _, together := range [][]share{test.held, test.then} {
				for i := range together {
					n++
					together[i].lease = n
					add(acquire, together[i])
				}
				for _, s := range together {
					add(release, s)
				}
			}
			want := porcupine.Illegal
			if test.ok {
				want = porcupine.Ok
			}
			h.mustBe(t, want)
		})
	}
}

func TestSequential_downgrade(t *testing.T) {
	tests := []struct {
		name           string
		action         action
		fence, joining lockrt.Fence
		joinsAs        lockrt.Mode
		ok             bool
	}{
		{"a reader joins", downgrade, 1, 1, lockrt.Read, true},
		{"with a new fence", downgrade, 3, 3, lockrt.Read, true},
		{"a reader with the old fence", downgrade, 3, 1, lockrt.Read, false},
		{"a writer gets in", downgrade, 1, 2, lockrt.Write, false},
		{"a reader joins who may read", tryDowngrade, 1, 1, lockrt.Read, true},
		{"a writer gets in before the end", tryDowngrade, 1, 2, lockrt.Write, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := newHistory()
			writer := share{lease: 1, fence: 1}
			h.add(0, acquire, writer, 0, 1)
			writer.fence = test.fence
			h.add(0, test.action, writer, 2, 3)
			h.add(1, acquire, share{lease: 2, fence: test.joining, mode: test.joinsAs}, 4, 5)
			want := porcupine.Illegal
			if test.ok {
				want = porcupine.Ok
			}
			h.mustBe(t, want)
		})
	}
}
