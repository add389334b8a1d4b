package etcdtest

import (
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// follower returns a member that does not lead.
func (c *cluster) follower(t testing.TB) *testetcd.Member {
	t.Helper()
	leader := c.leader(t)
	for _, m := range c.Members {
		if m != leader {
			return m
		}
	}
	t.Fatal("all members lead")
	return nil
}

// addrsBeside are those of all members but one.
func (c *cluster) addrsBeside(m *testetcd.Member) (others []string) {
	for _, other := range c.Members {
		if other != m {
			others = append(others, other.Addr())
		}
	}
	return others
}

// A leader is parted from the others, and a client that knows no other member reaches it still. It grants and renews
// nothing any more: the holder stops to believe in its lease before the others give the lock to somebody else.
func TestStore_leaderParted(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := start(t, 3, testetcd.Options{Lines: true})
	leader := c.leader(t)
	a := newLocker(t, c, "a", lockrt.Config{}, leader.Addr())
	b := newLocker(t, c, "b", lockrt.Config{}, c.addrsBeside(leader)...)
	held := acquire(t, a, "k", lockrt.Options{TTL: 2 * time.Second})
	waiter := waits(t, b, "k")
	leader.Part()
	next := <-waiter
	if held.Err() == nil {
		t.Error("the lock has two holders")
	}
	if next.Fence() <= held.Fence() {
		t.Errorf("fence %d after %d", next.Fence(), held.Fence())
	}
	_, err := a.TryAcquire(t.Context(), "other", lockrt.Options{TTL: long})
	says(t, err)
	leader.Join()
	release(t, next)
	last := acquire(t, a, "k", lockrt.Options{TTL: long, Wait: time.Minute})
	if last.Fence() <= next.Fence() {
		t.Errorf("fence %d after %d", last.Fence(), next.Fence())
	}
	release(t, last)
	c.mustBeLeft(t, a, b)
}

// One member is parted from the others while everybody has a line to all three. What is held stays held, what is free
// can be had, and who waits is served.
func TestStore_memberParted(t *testing.T) {
	t.Parallel() // it waits more than it works
	for name, pick := range map[string]func(*cluster) *testetcd.Member{
		"leader":   func(c *cluster) *testetcd.Member { return c.leader(t) },
		"follower": func(c *cluster) *testetcd.Member { return c.follower(t) },
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, 3, testetcd.Options{Lines: true})
			a, b := newLocker(t, c, "a", lockrt.Config{}), newLocker(t, c, "b", lockrt.Config{})
			held := acquire(t, a, "held", lockrt.Options{TTL: 15 * time.Second})
			waiter := waits(t, b, "held")
			parted := pick(c)
			parted.Part()
			free, err := b.Acquire(t.Context(), "free", lockrt.Options{TTL: long, Wait: time.Minute})
			for err != nil && silent(err) { // nobody leads yet
				free, err = b.Acquire(t.Context(), "free", lockrt.Options{TTL: long, Wait: time.Minute})
			}
			if err != nil {
				t.Fatal(err)
			}
			renewed := held.Deadline().Add(15 * time.Second)
			eventually(t, "the held lock is renewed for longer than its TTL", func() bool {
				return held.Deadline().After(renewed) || held.Err() != nil
			})
			release(t, held) // it is not lost
			next := <-waiter
			if next.Fence() <= held.Fence() {
				t.Errorf("fence %d after %d", next.Fence(), held.Fence())
			}
			for _, lease := range []*lockrt.Lease{next, free} {
				// It may come to the parted member each time that it is tried: then it goes on in the background.
				if err := lease.Release(t.Context()); err != nil && !silent(err) {
					t.Error(err)
				}
			}
			parted.Join()
			c.mustBeLeft(t, a, b)
		})
	}
}

// silent reports whether a call has ended after 5 s without an answer.
func silent(err error) bool { return strings.Contains(err.Error(), "the store did not answer") }

// mustBeLeft closes Lockers, and waits until they have left nothing.
func (c *cluster) mustBeLeft(t testing.TB, all ...*lockrt.Locker) {
	t.Helper()
	for _, locks := range all {
		if err := locks.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	c.mustBeEmpty(t)
}
