package etcdtest

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// A leader stands still for longer than leases last, as one whose machine was paused. When it goes on it may revoke the leases
// of etcd that its successor has renewed. No lock is under them any more, and who waits under one comes in.
func TestStore_leaderStopped(t *testing.T) {
	t.Parallel() // it waits more than it works
	const ttl, locks = 6 * time.Second, 100
	rounds := 3
	if os.Getenv("LOCKGEN_SOAK") != "" {
		rounds = 30
	}
	c := start(t, 3, testetcd.Options{Lines: true, Fsync: true})
	a, b := newLocker(t, c, "a", lockrt.Config{}), newLocker(t, c, "b", lockrt.Config{})
	held := make([]*lockrt.Lease, locks)
	take := func(i int) {
		for held[i] == nil || held[i].Err() != nil {
			lease, err := a.Acquire(t.Context(), fmt.Sprint("k", i), lockrt.Options{TTL: ttl, Wait: time.Minute})
			if err == nil {
				held[i] = lease
			} else if !silent(err) { // else nobody leads yet
				t.Fatal(err)
			}
		}
	}
	renewed := func(i int, after time.Time) bool {
		return held[i].Err() != nil || held[i].Deadline().After(after)
	}
	for round := range rounds {
		for i := range locks {
			take(i)
		}
		first := acquire(t, a, "w", lockrt.Options{TTL: time.Minute})
		waiting := waitsAs(t, b, "w", lockrt.Options{TTL: ttl, Wait: time.Hour})
		leader := c.leader(t)
		if err := leader.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		later := time.Now().Add(2*ttl + 3*time.Second) // the former leader has nothing renewed as far as it knows
		for i := range locks {
			take(i) // whose deadline has passed while nobody led
			eventually(t, "a lease is renewed after the leader stood still", func() bool { return renewed(i, later) })
			take(i)
		}
		if err := leader.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		later = time.Now().Add(2 * ttl)
		for i := range locks {
			eventually(t, "a lease is renewed after the leader went on", func() bool { return renewed(i, later) })
			if err := held[i].Err(); err != nil {
				t.Fatalf("round %d: the lock %d is lost: %v", round, i, err)
			}
		}
		release(t, first)
		next := <-waiting
		if next.Fence() <= first.Fence() {
			t.Errorf("fence %d after %d", next.Fence(), first.Fence())
		}
		release(t, next)
	}
	for _, lease := range held {
		release(t, lease)
	}
	c.mustBeLeft(t, a, b)
}
