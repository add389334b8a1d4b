package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

var listTests = map[string]func(*testing.T, *env){
	"by_prefix_and_sorted": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		for i, key := range []string{"b:2", "b:1", "a", "b", "c*", "cd"} {
			e.take(s, key, fmt.Sprint(i), long)
		}
		for prefix, want := range map[string]string{"": "a b b:1 b:2 c* cd", "b": "b b:1 b:2", "c*": "c*", "x": ""} {
			infos, err := s.List(e.ctx, prefix)
			if err != nil {
				t.Fatal(err)
			}
			var keys []string
			for _, info := range infos {
				keys = append(keys, info.Key)
			}
			if got := strings.Join(keys, " "); got != want {
				t.Errorf("List(%q) is %q, want %q", prefix, got, want)
			}
		}
	},

	"tells_who_since_when_and_who_waits": func(t *testing.T, e *env) {
		a, _ := e.session("node a")
		b, _ := e.session("node b")
		before := time.Now()
		g := e.take(a, "k", "1", long)
		e.wait(e.ctx, b, lockrt.Request{Key: "k", ID: "2", TTL: long, Wait: long})
		e.wait(e.ctx, a, lockrt.Request{Key: "k", ID: "3", TTL: long, Wait: long})
		info := e.info(b, "k")
		if info.Node != "node a" || info.ID != "1" || info.Fence != lockrt.FenceOf(g.Epoch) {
			t.Errorf("the lock is %+v", info)
		}
		if since := info.Since.Sub(before); since < -time.Minute || since > time.Minute {
			t.Errorf("held since %s, acquired at about %s", info.Since, before)
		}
		if info.Remaining <= 0 || info.Remaining > long {
			t.Errorf("remaining is %s", info.Remaining)
		}
		want := []lockrt.Waiter{{Node: "node b", ID: "2"}, {Node: "node a", ID: "3"}}
		if !slices.Equal(info.Waiters, want) {
			t.Errorf("waiters are %v, want %v", info.Waiters, want)
		}
		e.release(a, "k", "1")
	},

	"inspect_one": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		inspector, ok := s.(lockrt.Inspector)
		if !ok {
			t.Skip("this store has no Inspector")
		}
		if _, err := inspector.Inspect(e.ctx, "k"); !errors.Is(err, lockrt.ErrNotHeld) {
			t.Errorf("inspecting a free lock: %v, want ErrNotHeld", err)
		}
		e.take(s, "k", "1", long)
		if info, err := inspector.Inspect(e.ctx, "k"); err != nil || info.ID != "1" || info.Key != "k" {
			t.Errorf("Inspect is %+v, %v", info, err)
		}
	},

	"break_moves_the_lock_on": func(t *testing.T, e *env) {
		a, losses := e.session("a")
		b, _ := e.session("b")
		breaker, ok := b.(lockrt.Breaker)
		if !ok {
			t.Skip("this store has no Breaker")
		}
		if err := breaker.Break(e.ctx, lockrt.Breaking{Key: "k", ID: "1", Fence: 1, Reason: "why"}); !errors.Is(err, lockrt.ErrNotHeld) {
			t.Errorf("breaking a free lock: %v, want ErrNotHeld", err)
		}
		const why = "it hangs, says ops"
		for round, end := 1, time.Now().Add(testsync.Patience); ; round += 2 {
			old := e.take(a, "k", fmt.Sprint(round), long)
			e.believes(a, "k", fmt.Sprint(round))
			done := e.wait(e.ctx, b, request("k", round+1))
			if err := breaker.Break(e.ctx, breaking(fmt.Sprint(round), old, why)); err != nil {
				t.Fatal(err)
			}
			if g := e.granted(fmt.Sprint(round+1), done); g.Epoch <= old.Epoch {
				t.Errorf("epoch %d after the broken %d", g.Epoch, old.Epoch)
			}
			if err := a.Release(e.ctx, lockrt.Release{Key: "k", ID: fmt.Sprint(round)}); !errors.Is(err, lockrt.ErrLost) {
				t.Errorf("release of the broken lease: %v, want ErrLost", err)
			}
			told := e.lostOf(losses, fmt.Sprint(round))
			if strings.Contains(told.Error(), why) {
				return
			}
			if time.Now().After(end) { // a session may be told that, and not why, before it is ready to hear
				t.Fatalf("the holder is told %q, want the reason %q", told, why)
			}
			e.release(b, "k", fmt.Sprint(round+1))
		}
	},
}

// lostOf waits until a session is told that a lease is lost, and returns the reason.
func (e *env) lostOf(losses <-chan loss, id string) error {
	e.t.Helper()
	for end := time.After(testsync.Patience); ; {
		select {
		case l := <-losses:
			if l.id == id {
				return l.reason
			}
		case <-end:
			e.t.Fatalf("the holder is not told of the loss of %q", id)
		}
	}
}
