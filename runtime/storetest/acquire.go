package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

var acquireTests = map[string]func(*testing.T, *env){
	"busy_names_holder_and_rest": func(t *testing.T, e *env) {
		a, _ := e.session("node a")
		b, _ := e.session("node b")
		e.take(a, "k", "1", long)
		_, err := b.Acquire(e.ctx, lockrt.Request{Key: "k", ID: "2", TTL: long})
		e.busy(err, "k", "node a")
		var busy *lockrt.BusyError
		if errors.As(err, &busy) && (busy.Remaining <= 0 || busy.Remaining > long) {
			t.Errorf("remaining is %s, want more than 0 and at most %s", busy.Remaining, long)
		}
	},

	"start_is_not_after_the_request": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		g := e.take(s, "k", "1", long)
		if now := time.Now(); g.Start.After(now) {
			t.Errorf("the grant starts %s in the future", g.Start.Sub(now))
		}
	},

	"same_id_again_is_the_same_grant": func(t *testing.T, e *env) {
		// The answer was lost and the call is repeated.
		s, _ := e.session("a")
		first := e.take(s, "k", "1", long)
		again := e.take(s, "k", "1", long)
		if again.Epoch != first.Epoch {
			t.Errorf("epoch %d, then %d for the same lease", first.Epoch, again.Epoch)
		}
		e.release(s, "k", "1")
		e.take(s, "k", "2", long)
	},

	"same_id_after_the_end_is_another_grant": func(t *testing.T, e *env) {
		// A call that is repeated very late must not take what is over for what it gets now.
		s, _ := e.session("a")
		first := e.take(s, "k", "1", short)
		e.free(s, "k")
		if again := e.take(s, "k", "1", long); again.Epoch <= first.Epoch {
			t.Errorf("epoch %d, after the lease with %d had run out", again.Epoch, first.Epoch)
		}
	},

	"an_id_that_begins_like_the_owner's_is_another": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		e.take(s, "k", "job-10", long)
		_, err := s.Acquire(e.ctx, lockrt.Request{Key: "k", ID: "job-1", TTL: long})
		e.busy(err, "k", "a")
		if err := s.Release(e.ctx, lockrt.Release{Key: "k", ID: "job-1"}); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("release by job-1 of the lock of job-10: %v, want ErrLost", err)
		}
		if err := s.Renew(e.ctx, []lockrt.Renewal{{Key: "k", ID: "job-1", TTL: long}})[0]; !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("renewal by job-1 of the lock of job-10: %v, want ErrLost", err)
		}
	},

	"expired_lease_frees_the_lock": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		b, _ := e.session("b")
		old := e.take(a, "k", "1", short)
		var g lockrt.Grant
		testsync.Eventually(e.t, "the lease runs out", func() (ok bool) {
			var err error
			g, err = b.Acquire(e.ctx, lockrt.Request{Key: "k", ID: "2", TTL: long})
			return err == nil
		})
		if end := old.Start.Add(short); g.Start.Before(end) && time.Now().Before(end) {
			t.Errorf("acquired before the old lease could be over")
		}
		if g.Epoch <= old.Epoch {
			t.Errorf("epoch %d after %d", g.Epoch, old.Epoch)
		}
		if err := a.Release(e.ctx, lockrt.Release{Key: "k", ID: "1"}); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("release of the expired lease: %v, want ErrLost", err)
		}
		if err := a.Renew(e.ctx, []lockrt.Renewal{{Key: "k", ID: "1", TTL: long}})[0]; !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("renewal of the expired lease: %v, want ErrLost", err)
		}
		if id := e.info(b, "k").ID; id != "2" {
			t.Errorf("owner is %q after the old one released and renewed, want 2", id)
		}
	},

	"epochs_grow_over_sessions_and_recreation": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		b, _ := e.session("b")
		last := uint64(0)
		for i := range 50 {
			s := []lockrt.Session{a, b}[i%2]
			id := fmt.Sprint("lease", i)
			g := e.take(s, "k", id, long)
			if g.Epoch <= last {
				t.Fatalf("epoch %d after %d", g.Epoch, last)
			}
			if f := lockrt.FenceOf(g.Epoch); f >= 1<<63 || f <= lockrt.FenceOf(last) {
				t.Fatalf("fence %d after %d", f, lockrt.FenceOf(last))
			}
			last = g.Epoch
			e.release(s, "k", id)
		}
	},

	"keys_do_not_touch_each_other": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		keys := []string{
			"a", "A", "a:b", "a b", "{", "}", "{}", "{a}", "a}:queue", "a}b{c", "%", "%7B", "%7b", "%25", "*", "a*", "a?", "[ab]", `\`, `a\`,
			"queue", ":queue", "a:floor", "'\"", "\n", "日本", "\xff", "-", "- 1 2 3", "a}", "é",
		}
		for i, key := range keys {
			e.take(s, key, fmt.Sprint("id", i), long)
		}
		infos, err := s.List(e.ctx, "")
		if err != nil || len(infos) != len(keys) {
			t.Fatalf("%d locks are listed (error %v), want %d: %+v", len(infos), err, len(keys), infos)
		}
		for i, key := range keys {
			if info := e.info(s, key); info.ID != fmt.Sprint("id", i) {
				t.Errorf("key %q is held by %q", key, info.ID)
			}
			e.release(s, key, fmt.Sprint("id", i))
		}
	},

	"namespaces_do_not_touch_each_other": func(t *testing.T, e *env) {
		a, _ := e.session("a")
		other := *e
		other.namespace += ":x"
		b, _ := other.session("b")
		e.take(a, "x:k", "1", long)
		e.take(a, "k", "2", long)
		other.take(b, "k", "3", long)
		if infos, err := b.List(e.ctx, ""); err != nil || len(infos) != 1 || infos[0].ID != "3" {
			t.Errorf("the other namespace lists %v, %v", infos, err)
		}
	},

	"ended_context_is_the_error": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		ctx, cancel := context.WithCancel(e.ctx)
		cancel()
		if _, err := s.Acquire(ctx, lockrt.Request{Key: "k", ID: "1", TTL: long}); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v, want context.Canceled", err)
		}
		testsync.Eventually(e.t, "nothing is held", func() bool { return e.info(s, "k").ID == "" })
	},
}
