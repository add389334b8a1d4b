package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
)

func TestGuard_seesEveryOverlap(t *testing.T) {
	tests := []struct {
		name     string
		acquired int
		do       func(g *guard)
		ok       bool
	}{
		{"one after the other", 2, func(g *guard) { g.leave(1, g.enter(1)); g.leave(2, g.enter(2)) }, true},
		{"two inside", 2, func(g *guard) { a, b := g.enter(1), g.enter(2); g.leave(1, a); g.leave(2, b) }, false},
		{"left by another", 1, func(g *guard) { g.leave(2, g.enter(1)) }, false},
		{"an entry lost", 2, func(g *guard) { g.leave(1, g.enter(1)) }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuard()
			tt.do(g)
			if err := g.check("test", tt.acquired); errors.Is(err, errOverlap) == tt.ok {
				t.Errorf("check says %v", err)
			}
		})
	}
}

// A holder finds out who was there before it, and how long ago that one began to release.
func TestGuard_passed(t *testing.T) {
	g := newGuard()
	if _, who := g.passed(); who != 0 {
		t.Errorf("%d was there before the first", who)
	}
	before := time.Now()
	g.leave(7, g.enter(7))
	if at, who := g.passed(); who != 7 || at.Before(before.Truncate(0)) || at.After(time.Now()) {
		t.Errorf("%d left at %s, want 7 after %s", who, at, before)
	}
}

func TestGuardFile_isShared(t *testing.T) {
	path, err := newGuardFile()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeFile(t, path) })
	var guards [2]*guard
	for i := range guards {
		g, unmap, err := openGuardFile(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unmap() })
		guards[i] = g
	}
	entry := guards[0].enter(1)
	guards[1].enter(2)
	guards[0].leave(1, entry)
	if err := guards[1].check("test", 1); !errors.Is(err, errOverlap) {
		t.Errorf("check says %v", err)
	}
}

// Each way to measure fails with a lock that does not lock.
func TestScenarios_failOnOverlap(t *testing.T) {
	server := testenv.Redis(t)
	at := address{addr: server.Addr()}
	tests := map[string]func(ctx context.Context) error{
		"one process": func(ctx context.Context) error {
			// Both come out of lock and out of nothing else, so a few tries at most pass without an overlap.
			for range 1000 {
				if _, _, err := (seeds{goroutines: 64, each: 100}).batch(ctx, ctx, noLock, fakeLocks{}, "key"); err != nil {
					return err
				}
			}
			return nil
		},
		"several processes": func(ctx context.Context) error {
			s := clusterContended{crew: crew{processes: 2, waiters: 4, hold: time.Millisecond}, window: 200 * time.Millisecond}
			_, err := s.measure(ctx, noLock, at.addr, "key")
			return err
		},
		"acquired while it was held": func(ctx context.Context) error {
			s := idleWait{crews: []crew{{processes: 1, waiters: 1, hold: time.Millisecond}}, hold: 100 * time.Millisecond, rounds: 1}
			_, err := s.measure(ctx, noLock, s.crews[0], at.goRedisForTest(t), at.addr, "key")
			return err
		},
	}
	for name, measure := range tests {
		t.Run(name, func(t *testing.T) {
			if err := measure(t.Context()); !errors.Is(err, errOverlap) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestScenarios_failWithTheContender(t *testing.T) {
	server := testenv.Redis(t)
	s := seeds{goroutines: 2, each: 1, limit: time.Minute, atLeast: time.Millisecond}
	if _, err := s.measure(t.Context(), brokenLock, address{addr: server.Addr()}, "key"); !errors.Is(err, errBroken) {
		t.Errorf("seeds: %v", err)
	}
	cr := crew{processes: 2, waiters: 1}
	_, err := cr.work(t.Context(), brokenLock, server.Addr(), "key", func(context.Context) error {
		t.Error("the workers began without a lock")
		return nil
	})
	if err == nil {
		t.Error("crew: no error")
	}
}
