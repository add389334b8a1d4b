package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// fill writes until the database takes no more.
func fill(t *testing.T, client *etcd.Client) {
	t.Helper()
	for i := 0; ; i++ {
		_, err := client.Put(t.Context(), fmt.Sprint("junk", i), strings.Repeat("x", 100<<10))
		if errors.Is(err, rpctypes.ErrNoSpace) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// makeRoom does what the errors ask for.
func makeRoom(t *testing.T, c *cluster, client *etcd.Client) {
	t.Helper()
	r, err := client.Delete(t.Context(), "junk", etcd.WithPrefix())
	if err == nil {
		_, err = client.Compact(t.Context(), r.Header.Revision, etcd.WithCompactPhysical())
	}
	for _, addr := range c.Addrs() {
		if err == nil {
			_, err = client.Defragment(t.Context(), addr)
		}
	}
	if err == nil {
		_, err = client.AlarmDisarm(t.Context(), &etcd.AlarmMember{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// guests come and go: each takes a lock of its own again and again, and all of them share transactions.
type guests struct {
	granted, refused []atomic.Int64
	stop             func()
}

func invite(t *testing.T, locks *lockrt.Locker, n int) *guests {
	t.Helper()
	g := &guests{granted: make([]atomic.Int64, n), refused: make([]atomic.Int64, n)}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range n {
		o := lockrt.Options{TTL: long, Wait: time.Duration(i%2) * time.Minute}
		all.Go(func() {
			for ctx.Err() == nil {
				g.visit(t, locks, i, o)
			}
		})
	}
	g.stop = func() {
		cancel()
		all.Wait()
	}
	t.Cleanup(g.stop)
	return g
}

func (g *guests) visit(t *testing.T, locks *lockrt.Locker, i int, o lockrt.Options) {
	lease, err := locks.Acquire(context.Background(), fmt.Sprint("guest", i), o)
	switch {
	case err == nil:
		g.granted[i].Add(1)
		if err := lease.Release(context.Background()); err != nil {
			t.Errorf("release of guest %d: %v", i, err)
		}
	case errors.Is(err, rpctypes.ErrNoSpace) && strings.Contains(err.Error(), "etcdctl alarm disarm"):
		g.refused[i].Add(1)
		time.Sleep(20 * time.Millisecond)
	case errors.Is(err, lockrt.ErrBusy): // what a refused request has put all the same is being taken back
		time.Sleep(20 * time.Millisecond)
	default:
		t.Errorf("guest %d is refused for another reason than the full database: %v", i, err)
		time.Sleep(20 * time.Millisecond)
	}
}

// growing waits until each of the counts has grown.
func growing(t *testing.T, what string, counts []atomic.Int64) {
	t.Helper()
	before := make([]int64, len(counts))
	for i := range counts {
		before[i] = counts[i].Load()
	}
	eventually(t, what, func() bool {
		for i := range counts {
			if counts[i].Load() == before[i] {
				return false
			}
		}
		return true
	})
}

// The database of a cluster of three is full amid a crowd whose requests share transactions. Each of them hears what to
// do, what is held is renewed and can be released, and when there is room again everybody gets a lock.
func TestStore_fullDatabase_crowd(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := start(t, 3, testetcd.Options{Quota: 4 << 20})
	const heldTTL = 6 * time.Second
	client, locks := c.client(t), newLocker(t, c, "crowd", lockrt.Config{})
	held := make([]*lockrt.Lease, 30)
	var all sync.WaitGroup
	for i := range held {
		all.Go(func() {
			o := lockrt.Options{TTL: heldTTL, Wait: time.Minute}
			held[i], _ = locks.Acquire(t.Context(), fmt.Sprint("held", i), o)
		})
	}
	all.Wait()
	for i, lease := range held {
		if lease == nil {
			t.Fatalf("held%d is not", i)
		}
	}
	waiter := waitsAs(t, newLocker(t, c, "other", lockrt.Config{}), "held0",
		lockrt.Options{TTL: heldTTL, Wait: long})
	crowd := invite(t, locks, 40)
	growing(t, "everybody has had a lock", crowd.granted)
	fill(t, client)
	growing(t, "everybody is refused", crowd.refused)
	renewed := time.Now().Add(2 * heldTTL) // each has then been renewed after it was full
	for _, lease := range held {
		eventually(t, lease.Key()+" is renewed for longer than its TTL", func() bool {
			return lease.Err() != nil || lease.Deadline().After(renewed)
		})
	}
	growing(t, "everybody is refused again", crowd.refused)
	for _, lease := range held {
		all.Go(func() {
			if err := lease.Release(context.Background()); err != nil {
				t.Errorf("in a full database, release %s: %v", lease.Key(), err)
			}
		})
	}
	all.Wait()
	release(t, <-waiter)
	makeRoom(t, c, client)
	growing(t, "everybody has a lock again", crowd.granted)
	crowd.stop()
	last := acquire(t, locks, "held0", lockrt.Options{TTL: long, Wait: time.Minute})
	if last.Fence() <= held[0].Fence() {
		t.Errorf("fence %d after %d", last.Fence(), held[0].Fence())
	}
	release(t, last)
}

// The session has no generation any more, and a full database refuses a new one. Of those who come together one asks,
// and all hear its answer: each asking for itself, one after the other, would take longer than some of them have time.
func TestSession_Acquire_refusedTogether(t *testing.T) {
	c := newCrowdIn(t, start(t, 1, testetcd.Options{Quota: 4 << 20}))
	client := c.c.client(t)
	if _, err := c.session.Acquire(t.Context(), lockrt.Request{Key: "first", ID: "first", TTL: long}); err != nil {
		t.Fatal(err)
	}
	fill(t, client)
	const many = 40
	for round := range 10 {
		for i := 0; slices.ContainsFunc(c.c.keys(t), isGeneration); i++ { // a refused request ends it
			id := fmt.Sprint("end ", round, i)
			_, err := c.session.Acquire(t.Context(), lockrt.Request{Key: id, ID: id, TTL: long})
			says(t, err, "etcdctl alarm disarm")
		}
		open, came := c.calls.shut()
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				id := fmt.Sprint(round, i)
				_, err := c.session.Acquire(t.Context(), lockrt.Request{Key: id, ID: id, TTL: long})
				says(t, err, "etcdctl alarm disarm")
			})
		}
		for came() == 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(10 * time.Millisecond) // the others are on their way: if not, another round will do
		open()
		all.Wait()
		if came() <= many/4 {
			return
		}
	}
	t.Error("each of a crowd asks for itself whether the database is full")
}

func isGeneration(key string) bool { return strings.Contains(key, "/s/") }
