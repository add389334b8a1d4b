//go:build unix

package redisstore_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

func (c *child) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatalf("%s to the child: %v", s, err)
	}
}

// A holder that is stopped beyond its lease cannot know, and what it had sent off before is still to come: only the
// fence keeps that out.
func TestFault_holderStoppedBeyondItsTTL(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	locks := newLocker(t, newClient(t, server), redisstore.Config{})
	thing := &resource{t: t}

	c := startChild(t, "hold", server.Addr())
	old, _ := c.says("held")
	if !thing.write(old) {
		t.Fatal("the holder's write was refused")
	}
	c.signal(syscall.SIGSTOP)
	lease := mustAcquire(ctx, t, locks, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
	if !thing.write(lease.Fence()) {
		t.Fatalf("the write under fence %d was refused after %d", lease.Fence(), old)
	}
	c.ask("write")
	c.signal(syscall.SIGCONT)
	late, lost := c.says("write")
	if late != old || thing.write(late) {
		t.Errorf("the late write under fence %d was accepted after %d", late, lease.Fence())
	}
	if !lost {
		t.Error("the holder believes in its lease after it was stopped beyond its TTL")
	}
	c.ask("release")
	if _, lost := c.says("released"); !lost {
		t.Error("the late release does not report the loss")
	}
	if err := lease.Check(ctx); err != nil {
		t.Errorf("the late release touched the next holder's lock: %v", err)
	}
	mustRelease(ctx, t, lease)
}

func TestFault_holderKilled(t *testing.T) {
	server := testenv.Redis(t)
	ctx := testContext(t)
	locks := newLocker(t, newClient(t, server), redisstore.Config{})
	c := startChild(t, "hold", server.Addr())
	old, _ := c.says("held")
	c.signal(syscall.SIGKILL)
	lease := mustAcquire(ctx, t, locks, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
	if lease.Fence() <= old {
		t.Errorf("fence %d after %d", lease.Fence(), old)
	}
	mustRelease(ctx, t, lease)
}

// The first in line cannot take what it is given. Those behind it get the lock without it, after one lease at most.
func TestFault_firstWaiterGone(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			server := testenv.Redis(t)
			ctx := testContext(t)
			locks, other := newLocker(t, newClient(t, server), childConfig), newLocker(t, newClient(t, server), childConfig)
			// Whoever waits for this lease to end waits for longer than the test lasts.
			lease := mustAcquire(ctx, t, locks, "k", lockrt.Options{TTL: long})
			c := startChild(t, "wait", server.Addr())
			queued(t, locks, "k", 1)
			next := acquiring(ctx, other, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
			queued(t, locks, "k", 2)
			c.signal(signal)
			mustRelease(ctx, t, lease)
			taken := (<-next).follows(t, lease)
			if signal == syscall.SIGKILL {
				mustRelease(ctx, t, taken)
				return
			}
			// Awake again it may have a grant that came while it was stopped. It must not believe in that.
			c.signal(syscall.SIGCONT)
			queued(t, locks, "k", 1)
			if err := taken.Check(ctx); err != nil {
				t.Errorf("check: %v", err)
			}
			mustRelease(ctx, t, taken)
			if fence, _ := c.says("held"); fence <= taken.Fence() {
				t.Errorf("fence %d after %d", fence, taken.Fence())
			}
			c.ask("release")
			c.says("released")
			testsync.Eventually(t, "the lock is free", func() bool {
				_, err := locks.Holder(ctx, "k")
				return errors.Is(err, lockrt.ErrNotHeld)
			})
		})
	}
}
