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

// shareTests are about which leases may hold a lock together, and how each comes and goes without the others.
var shareTests = map[string]func(*testing.T, *env){
	"readers_hold_together": func(t *testing.T, e *env) {
		a, b := e.sharer("a"), e.sharer("b")
		before := e.take(a, "k", "0", long)
		e.release(a, "k", "0")
		one, two := e.takeAs(a, reader(1)), e.takeAs(b, reader(2))
		if one.Epoch <= before.Epoch || two.Epoch != one.Epoch {
			t.Errorf("the readers have the epochs %d and %d, want one above %d", one.Epoch, two.Epoch, before.Epoch)
		}
		for _, other := range []lockrt.Request{writer(3), permit(4, 9)} {
			e.busyWith(b, other, 2)
		}
		e.releaseAs(a, reader(1))
		e.busyWith(b, writer(5), 1)
		e.releaseAs(b, reader(2))
		if g := e.takeAs(b, writer(6)); g.Epoch <= one.Epoch {
			t.Errorf("the writer's epoch is %d after the readers' %d", g.Epoch, one.Epoch)
		}
		e.busyWith(a, reader(7), 0)
	},

	"permits_have_slots_and_epochs": func(t *testing.T, e *env) {
		a, b := e.sharer("a"), e.sharer("b")
		last := uint64(0)
		for i := range 3 {
			g := e.takeAs([]lockrt.Sharer{a, b}[i%2], permit(i, 3))
			if g.Slot != i || g.Epoch <= last {
				t.Errorf("permit %d has slot %d and epoch %d after %d", i, g.Slot, g.Epoch, last)
			}
			last = g.Epoch
		}
		for _, other := range []lockrt.Request{writer(4), reader(5), permit(6, 3)} {
			e.busyWith(b, other, 3)
		}
		e.releaseAs(b, permit(1, 3))
		e.busyWith(b, reader(5), 2)
		if g := e.takeAs(a, permit(7, 3)); g.Slot != 1 || g.Epoch <= last {
			t.Errorf("the next permit has slot %d and epoch %d, want the free slot 1 and more than %d", g.Slot, g.Epoch, last)
		}
		if g := e.takeAs(a, permit(8, 4)); g.Slot != 3 {
			t.Errorf("a permit of 4 has slot %d beside 3, want 3", g.Slot)
		}
	},

	"a_permit_that_comes_back_leaves_its_slot": func(t *testing.T, e *env) {
		s, returns := e.sharer("a"), permit(2, 3)
		returns.TTL = short
		e.takeAs(s, permit(1, 3))
		e.takeAs(s, returns)
		e.takeAs(s, permit(3, 3))
		testsync.Eventually(t, "the permit that nobody renews is over", func() bool {
			return slices.Equal(e.holders(s), []string{"1", "3"})
		})
		e.releaseAs(s, permit(1, 3))
		returns.TTL = long
		if g := e.takeAs(s, returns); g.Slot != 0 {
			t.Errorf("it comes back to slot %d, want 0, the first that is free", g.Slot)
		}
		if g := e.takeAs(s, permit(4, 3)); g.Slot != 1 {
			t.Errorf("the next has slot %d, want 1, which it had before", g.Slot)
		}
	},

	"same_id_again_is_the_same_grant": func(t *testing.T, e *env) {
		s := e.sharer("a")
		for _, req := range []lockrt.Request{reader(1), permit(2, 2)} {
			one := e.takeAs(s, req)
			if again := e.takeAs(s, req); again.Epoch != one.Epoch || again.Slot != one.Slot {
				t.Errorf("first %+v and then %+v for the same lease", one, again)
			}
			if n := len(e.info(s, "k").Holders); n != 1 {
				t.Errorf("%d hold the lock, want one", n)
			}
			e.releaseAs(s, req)
			e.free(s, "k")
		}
	},

	"a_double_release_changes_nothing": func(t *testing.T, e *env) {
		a, b := e.sharer("a"), e.sharer("b")
		for _, share := range []func(i int) lockrt.Request{reader, func(i int) lockrt.Request { return permit(i, 2) }} {
			for i := range 2 {
				e.takeAs(a, share(i))
			}
			e.releaseAs(a, share(0))
			e.takeAs(b, share(2))
			if err := a.Release(e.ctx, e.ending(share(0))); !errors.Is(err, lockrt.ErrLost) {
				t.Errorf("the second release of one of several: %v, want ErrLost", err)
			}
			if ids := e.holders(a); !slices.Equal(ids, []string{"1", "2"}) {
				t.Errorf("after a second release the lock is held by %v, want 1 and 2", ids)
			}
			e.releaseAs(a, share(1))
			e.releaseAs(b, share(2))
			e.free(a, "k")
		}
	},

	"each_is_renewed_and_checked_alone": func(t *testing.T, e *env) {
		s := e.sharer("a")
		for _, share := range []func(i int) lockrt.Request{reader, func(i int) lockrt.Request { return permit(i, 2) }} {
			dies, stays := share(1), share(2)
			dies.TTL, stays.TTL = short, long/2
			e.takeAs(s, dies)
			e.takeAs(s, stays)
			stays.TTL = long
			if err := s.Renew(e.ctx, []lockrt.Renewal{e.renewal(stays)})[0]; err != nil {
				t.Fatalf("renewal of one of two: %v", err)
			}
			testsync.Eventually(t, "the lease that nobody renews is over", func() bool {
				return slices.Equal(e.holders(s), []string{"2"})
			})
			if err := s.Renew(e.ctx, []lockrt.Renewal{e.renewal(dies)})[0]; !errors.Is(err, lockrt.ErrLost) {
				t.Errorf("renewal of a lease that is over, beside one that is not: %v, want ErrLost", err)
			}
			if checker, ok := s.(lockrt.Checker); ok {
				errs := checker.Check(e.ctx, []lockrt.HeldLease{e.held(dies), e.held(stays)})
				if !errors.Is(errs[0], lockrt.ErrLost) || errs[1] != nil {
					t.Errorf("Check says %v and %v, want ErrLost of the first alone", errs[0], errs[1])
				}
			}
			e.releaseAs(s, stays)
			e.free(s, "k")
		}
	},

	"minhold_keeps_a_slot": func(t *testing.T, e *env) {
		s := e.sharer("a")
		one := e.takeAs(s, permit(1, 2))
		e.takeAs(s, permit(2, 2))
		kept := e.ending(permit(1, 2))
		kept.Keep = long
		if err := s.Release(e.ctx, kept); err != nil {
			t.Fatal(err)
		}
		e.busyWith(s, permit(3, 2), 2)
		info := e.info(s, "k")
		at := slices.IndexFunc(info.Holders, func(h lockrt.Holder) bool { return h.ID == "" })
		if len(info.Holders) != 2 || at < 0 || info.Holders[at].Slot != 0 || info.Holders[at].Node != "" {
			t.Fatalf("the holders are %+v, want slot 0 kept by nobody", info.Holders)
		}
		e.releaseAs(s, permit(2, 2))
		if g := e.takeAs(s, permit(4, 2)); g.Slot != 1 {
			t.Errorf("slot %d is given beside the kept slot 0", g.Slot)
		}
		next := e.wait(e.ctx, s, permit(5, 2))
		b := lockrt.Breaking{Key: "k", Fence: lockrt.FenceOf(one.Epoch), Reason: "test"}
		if err := e.breaker(s).Break(e.ctx, b); err != nil {
			t.Fatalf("break of a slot that is kept: %v", err)
		}
		if g := e.granted("5", next); g.Slot != 0 {
			t.Errorf("slot %d is given, want the one that was kept", g.Slot)
		}
	},

	"busy_names_who_has_a_lease": func(t *testing.T, e *env) {
		a, b := e.sharer("node a"), e.sharer("node b")
		asks := func(want string) {
			t.Helper()
			req := permit(9, 2)
			req.Wait = 0
			_, err := b.Acquire(e.ctx, req)
			busy := new(lockrt.BusyError)
			if !errors.As(err, &busy) || busy.Holder != want || busy.Holders != 2 {
				t.Errorf("%+v, %v, want one that names %q as one of two", busy, err, want)
			}
		}
		for i, s := range []lockrt.Sharer{a, b} {
			e.takeAs(s, permit(i, 2))
		}
		for i, left := range []string{"node b", ""} {
			kept := e.ending(permit(i, 2))
			kept.Keep = long / 2 // it ends before the other
			if err := []lockrt.Sharer{a, b}[i].Release(e.ctx, kept); err != nil {
				t.Fatal(err)
			}
			asks(left)
		}
	},

	"many_hold_together": func(t *testing.T, e *env) {
		b := e.sharer("b")
		const many, listed = 120, 100
		losses := make(chan string, 2*many)
		a := e.sessionThat("a", func(id string, _ error) { testsync.Offer(losses, id) })
		for i := range many {
			e.takeAs(a, permit(i, many))
			e.believes(a, "k", permit(i, many).ID)
		}
		inspector, ok := b.(lockrt.Inspector)
		if !ok {
			t.Skip("this store has no Inspector")
		}
		seen, err := inspector.Inspect(e.ctx, "k")
		if err != nil || len(seen.Holders) != many || seen.Limit != many {
			t.Fatalf("%d holders are seen, %v, want %d", len(seen.Holders), err, many)
		}
		infos, err := b.List(e.ctx, "")
		if err != nil || len(infos) != 1 || len(infos[0].Holders) != listed {
			t.Fatalf("the list is %d long, %v, want one lock with %d of its holders", len(infos), err, listed)
		}
		for i, h := range seen.Holders {
			if err := e.breaker(b).Break(e.ctx, lockrt.Breaking{Key: "k", ID: h.ID, Fence: h.Fence, Reason: "test"}); err != nil {
				t.Fatalf("break of holder %d, %+v: %v", i, h, err)
			}
		}
		told := make(map[string]bool)
		for len(told) < many {
			select {
			case id := <-losses:
				told[id] = true
			case <-time.After(testsync.Patience):
				t.Fatalf("only %d of %d were told", len(told), many)
			}
		}
		testsync.Eventually(t, "all have left", func() bool {
			_, err := inspector.Inspect(e.ctx, "k")
			return errors.Is(err, lockrt.ErrNotHeld)
		})
	},

	"a_list_names_all_holders_and_kinds": func(t *testing.T, e *env) {
		a, b := e.sharer("node a"), e.sharer("node b")
		one := e.takeAs(a, reader(1))
		e.takeAs(b, reader(2))
		e.wait(e.ctx, b, writer(3))
		e.wait(e.ctx, a, permit(4, 7))
		info := e.info(b, "k")
		if info.Mode != lockrt.Read || info.Limit != 0 || len(info.Holders) != 2 || info.ID != info.Holders[0].ID {
			t.Fatalf("the lock is %+v, want one held by two readers", info)
		}
		slices.SortFunc(info.Holders, func(a, b lockrt.Holder) int { return strings.Compare(a.ID, b.ID) })
		for i, want := range []lockrt.Holder{{Node: "node a", ID: "1"}, {Node: "node b", ID: "2"}} {
			h := info.Holders[i]
			if h.Node != want.Node || h.ID != want.ID || h.Fence != lockrt.FenceOf(one.Epoch) || h.Slot != -1 ||
				h.Remaining <= 0 || h.Remaining > long {
				t.Errorf("holder %d is %+v", i, h)
			}
		}
		want := []lockrt.Waiter{{Node: "node b", ID: "3"}, {Node: "node a", ID: "4", Permits: 7}}
		if !slices.Equal(info.Waiters, want) {
			t.Errorf("waiters are %+v, want %+v", info.Waiters, want)
		}
		e.take(a, "exclusive", "5", long)
		p := permit(6, 3)
		p.Key = "pool"
		e.takeAs(a, p)
		if info := e.info(a, "pool"); info.Mode != lockrt.Write || info.Limit != 3 || len(info.Holders) != 1 ||
			info.Holders[0].Slot != 0 {
			t.Errorf("the lock of permits is %+v", info)
		}
		if info := e.info(a, "exclusive"); info.Mode != lockrt.Write || info.Limit != 0 {
			t.Errorf("the exclusive lock is %+v", info)
		}
	},

	"break_of_one_of_several": func(t *testing.T, e *env) {
		b := e.sharer("b")
		a, losses := e.session("a")
		one := e.takeAs(a, reader(1))
		e.believes(a, "k", "1")
		e.takeAs(b, reader(2))
		next := e.wait(e.ctx, b, writer(3))
		if err := e.breaker(b).Break(e.ctx, breaking("1", one, "it hangs")); err != nil {
			t.Fatal(err)
		}
		select {
		case l := <-losses:
			if l.id != "1" {
				t.Errorf("the loss is of %q, want 1", l.id)
			}
		case <-time.After(testsync.Patience):
			t.Error("the holder was not told")
		}
		testsync.Eventually(t, "the broken lease is off the lock", func() bool {
			return slices.Equal(e.holders(b), []string{"2"})
		})
		if err := b.Renew(e.ctx, []lockrt.Renewal{e.renewal(reader(2))})[0]; err != nil {
			t.Errorf("renewal of the other lease: %v", err)
		}
		select {
		case o := <-next:
			t.Fatalf("the writer is granted beside a reader: %+v, %v", o.grant, o.err)
		default:
		}
		e.releaseAs(b, reader(2))
		e.granted("3", next)
	},
}

func reader(i int) lockrt.Request {
	return lockrt.Request{Key: "k", ID: fmt.Sprint(i), TTL: long, Wait: lockrt.Forever, Mode: lockrt.Read}
}

func writer(i int) lockrt.Request { return request("k", i) }

func permit(i, n int) lockrt.Request {
	return lockrt.Request{Key: "k", ID: fmt.Sprint(i), TTL: long, Wait: lockrt.Forever, Permits: n}
}

// sharer opens a session of a store that shares locks, and skips the test where the store does not.
func (e *env) sharer(node string) lockrt.Sharer {
	e.t.Helper()
	s, _ := e.session(node)
	sharer, ok := s.(lockrt.Sharer)
	if !ok {
		e.t.Skip("this store has no Sharer")
	}
	return sharer
}

// share is what the suite knows of a lease, to name it to the store.
type share struct{ key, id string }

// takeAs acquires without waiting and fails the test if that fails.
func (e *env) takeAs(s lockrt.Session, req lockrt.Request) lockrt.Grant {
	e.t.Helper()
	req.Wait = 0
	g, err := s.Acquire(e.ctx, req)
	if err != nil {
		e.t.Fatalf("acquire %q for %q (%s, permits %d): %v", req.Key, req.ID, req.Mode, req.Permits, err)
	}
	e.epochs[share{req.Key, req.ID}] = g.Epoch
	return g
}

// grantedAs waits for a waiter's grant.
func (e *env) grantedAs(req lockrt.Request, done <-chan outcome) lockrt.Grant {
	e.t.Helper()
	g := e.granted(req.ID, done)
	e.epochs[share{req.Key, req.ID}] = g.Epoch
	return g
}

func (e *env) releaseAs(s lockrt.Session, req lockrt.Request) {
	e.t.Helper()
	if err := s.Release(e.ctx, e.ending(req)); err != nil {
		e.t.Fatalf("release %q of %q (%s, permits %d): %v", req.Key, req.ID, req.Mode, req.Permits, err)
	}
}

func (e *env) ending(req lockrt.Request) lockrt.Release {
	h := e.held(req)
	return lockrt.Release{Key: h.Key, ID: h.ID, Mode: h.Mode, Permits: h.Permits, Epoch: h.Epoch}
}

func (e *env) renewal(req lockrt.Request) lockrt.Renewal {
	h := e.held(req)
	return lockrt.Renewal{Key: h.Key, ID: h.ID, TTL: req.TTL, Mode: h.Mode, Permits: h.Permits, Epoch: h.Epoch}
}

func (e *env) held(req lockrt.Request) lockrt.HeldLease {
	epoch := e.epochs[share{req.Key, req.ID}]
	return lockrt.HeldLease{Key: req.Key, ID: req.ID, Mode: req.Mode, Permits: req.Permits, Epoch: epoch}
}

// busyWith checks that a request is refused, because of so many who hold the lock together, or of one alone (0).
func (e *env) busyWith(s lockrt.Session, req lockrt.Request, holders int) {
	e.t.Helper()
	req.Wait = 0
	_, err := s.Acquire(e.ctx, req)
	var busy *lockrt.BusyError
	if !errors.As(err, &busy) {
		e.t.Fatalf("acquire for %q (%s, permits %d) gives %v, want a *BusyError", req.ID, req.Mode, req.Permits, err)
	}
	if busy.Holders != holders || busy.Holder == "" || busy.Remaining <= 0 || busy.Remaining > long {
		e.t.Errorf("the error is %+v, want one that counts %d holders", busy, holders)
	}
}

// holders are the ids of who holds "k", sorted.
func (e *env) holders(s lockrt.Session) []string {
	e.t.Helper()
	var ids []string
	for _, h := range e.info(s, "k").Holders {
		ids = append(ids, h.ID)
	}
	slices.Sort(ids)
	return ids
}
