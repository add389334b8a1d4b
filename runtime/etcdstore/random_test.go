package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/lockchaos"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// This file is a random test of whole Lockers at an etcd in memory (fakeetcd_test.go), to which each has a line that
// loses, delays and refuses what goes over it (fakeline_test.go). A witness knows who holds what, and times every call.
//
// LOCKGEN_SEED=n makes the round n alone; LOCKGEN_SOAK makes a hundred times as many. With GOMAXPROCS=1 a round is
// nearly the same each time.

const (
	randomTime = 4 * time.Minute // of a bubble, for each round
	// late is how long a call may take behind its end: 80 ms for the release of what came too late, the 20 ms by which
	// ends of calls differ that share one, and a moment.
	late = 101 * time.Millisecond
	// freeAgain is how long a lock may be taken, and closeTime how long Close may take, when all is calm.
	freeAgain, closeTime = 10 * time.Second, 7 * time.Second
)

var randomKeys = []string{"a", "b", "permits"}

func TestLocker_random(t *testing.T) {
	from, rounds := rand.Uint64N(1<<40), uint64(4)
	if os.Getenv("LOCKGEN_SOAK") != "" {
		rounds *= 100
	}
	if text := os.Getenv("LOCKGEN_SEED"); text != "" {
		var err error
		if from, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("LOCKGEN_SEED: %v", err)
		}
		rounds = 1
	}
	for seed := from; seed < from+rounds; seed++ {
		t.Run(fmt.Sprint("LOCKGEN_SEED=", seed), func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				newLimits()
				defer newLimits()
				w := &witness{
					t: t, etcd: newFakeEtcd(),
					inside: make(map[*holding]bool), highest: make(map[place]lockrt.Fence), seen: make(map[string]int),
				}
				w.round(seed)
			})
		})
	}
}

// witness knows who holds what.
type witness struct {
	t    *testing.T
	etcd *fakeEtcd

	mu      sync.Mutex // guards what follows
	inside  map[*holding]bool
	highest map[place]lockrt.Fence // so far
	seen    map[string]int
	bad     int
}

// place is where fences grow: among writers of a key, its readers, or its permits with a slot.
type place struct {
	key, kind string
	slot      int
}

// node is a process with its line.
type node struct {
	locks *lockrt.Locker
	line  *fakeLine
}

func (w *witness) node(name string, handoffs int) *node {
	line := newFakeLine(w.etcd)
	locks, err := lockrt.New(line.store(), lockrt.Config{
		Node: name, LocalHandoffs: handoffs, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return &node{locks, line}
}

// round has all use their locks under all weathers, and then lets everything come to its end.
func (w *witness) round(seed uint64) {
	nodes := []*node{w.node("0", -1), w.node("1", 0), w.node("2", 0)}
	over, stop := context.WithTimeout(context.Background(), randomTime)
	defer stop()
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { n.line.changes(over, rand.New(rand.NewPCG(seed, uint64(i)))) })
		for j := range 5 {
			r := rand.New(rand.NewPCG(seed, uint64(100+10*i+j)))
			all.Go(func() {
				for over.Err() == nil {
					time.Sleep(between(r, 0, 400*time.Millisecond))
					w.visit(r, n)
				}
			})
		}
	}
	all.Go(func() { w.leads(over, rand.New(rand.NewPCG(seed, 1000))) })
	all.Wait()
	fresh := w.node("fresh", 0)
	for _, key := range randomKeys {
		lease, err := fresh.locks.Acquire(context.Background(), key, lockrt.Options{TTL: time.Second, Wait: freeAgain})
		if err != nil {
			w.wrong("%s is not free in the end: %v", key, err)
			continue
		}
		w.enter(&holding{lease: lease, key: key, kind: "writer"})
		_ = lease.Release(context.Background())
	}
	for _, n := range append(nodes, fresh) {
		began := time.Now()
		err := n.locks.Close(context.Background())
		if took := time.Since(began); err != nil || took > closeTime {
			w.wrong("Close took %s: %v", took, err)
		}
	}
	time.Sleep(2 * time.Minute) // whatever is on its way comes, and leases end
	for _, left := range w.etcd.left() {
		w.wrong("left: %s", left)
	}
	for _, kind := range []string{"writer", "reader", "permit"} {
		if w.seen[kind] == 0 {
			w.wrong("no %s ever had a lock", kind)
		}
	}
	w.t.Logf("seen: %v", w.seen)
}

// leads has leaders of etcd stand still for a while, until ctx is over.
func (w *witness) leads(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		for _, do := range []func(){w.etcd.elect, w.etcd.goOn} {
			select {
			case <-time.After(between(r, 0, 25*time.Second)):
				do()
			case <-ctx.Done():
			}
		}
	}
	w.etcd.goOn()
}

func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}

func (w *witness) wrong(format string, args ...any) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bad++; w.bad <= 10 {
		w.t.Errorf(format, args...)
	}
}

// callerContext is a context of a caller's, and when it ends; the zero time: never.
type callerContext struct {
	context.Context
	at     time.Time
	cancel func()
}

func someContext(r *rand.Rand) callerContext {
	after := between(r, time.Millisecond, []time.Duration{200 * time.Millisecond, 12 * time.Second}[r.IntN(2)])
	switch at := time.Now().Add(after); r.IntN(5) {
	case 0:
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(after, func() { cancel(errors.New("the caller's cause")) })
		return callerContext{ctx, at, func() { cancel(nil) }}
	case 1, 2:
		ctx, cancel := context.WithDeadline(context.Background(), at)
		return callerContext{ctx, at, cancel}
	}
	return callerContext{context.Background(), time.Time{}, func() {}}
}

func someOptions(r *rand.Rand, key string, ctx callerContext) lockrt.Options {
	o := lockrt.Options{TTL: between(r, time.Second, 15*time.Second), NoRenew: r.IntN(5) == 0}
	switch r.IntN(5) {
	case 0:
		o.Wait = between(r, callTime-time.Second, callTime+time.Second/5)
	case 1:
		o.Wait = between(r, time.Millisecond, 300*time.Millisecond)
	case 2:
		o.Wait = between(r, time.Millisecond, 12*time.Second)
	case 3:
		if o.Wait = lockrt.Forever; ctx.at.IsZero() {
			o.Wait = between(r, 10*time.Second, 12*time.Second)
		}
	}
	switch r.IntN(6) {
	case 0:
		o.Mode = lockrt.Read
	case 1, 2, 3:
		if key == "permits" {
			o.Permits = 1 + r.IntN(3)
		}
	case 4:
		o.MinHold = between(r, 0, min(o.TTL, 3*time.Second))
	}
	return o
}

// visit is what a caller does once.
func (w *witness) visit(r *rand.Rand, n *node) {
	key, ctx := randomKeys[r.IntN(len(randomKeys))], someContext(r)
	defer ctx.cancel()
	switch r.IntN(30) {
	case 0, 1:
		_ = w.timed(n, "Holder", 0, ctx, func() error { _, err := n.locks.Holder(ctx, key); return err })
		return
	case 2, 3:
		_ = w.timed(n, "List", 0, ctx, func() error { _, err := n.locks.List(ctx, ""); return err })
		return
	case 4:
		_ = w.timed(n, "Break", 0, ctx, func() error { return n.locks.Break(ctx, key, "random test") })
		return
	}
	o := someOptions(r, key, ctx)
	var lease *lockrt.Lease
	call := func() (err error) { lease, err = n.locks.Acquire(ctx, key, o); return err }
	if w.timed(n, "Acquire", o.Wait, ctx, call) != nil {
		return
	}
	h := &holding{lease: lease, key: key, kind: lockchaos.Kind(o), permits: o.Permits}
	w.enter(h)
	defer w.leave(h)
	if stays := between(r, 0, 1500*time.Millisecond); r.IntN(20) == 0 {
		time.Sleep(10 * stays) // whatever becomes of the lease
	} else {
		select {
		case <-time.After(stays):
		case <-lease.Context().Done():
		}
	}
	w.use(r, n, h, o)
	last := someContext(r)
	defer last.cancel()
	_ = w.timed(n, "Release", 0, last, func() error { return lease.Release(last) })
}

// use does one thing with a lease.
func (w *witness) use(r *rand.Rand, n *node, h *holding, o lockrt.Options) {
	ctx := someContext(r)
	defer ctx.cancel()
	switch r.IntN(6) {
	case 0:
		by := between(r, time.Second, 40*time.Second)
		_ = w.timed(n, "Extend", 0, ctx, func() error { return h.lease.Extend(ctx, by) })
	case 1:
		_ = w.timed(n, "Check", 0, ctx, func() error { return h.lease.Check(ctx) })
	case 2:
		if h.kind == "writer" && o.MinHold == 0 {
			w.leave(h) // others may read before the call comes back
			if w.timed(n, "Downgrade", 0, ctx, func() error { return h.lease.Downgrade(ctx) }) == nil {
				h.kind = "reader"
				w.enter(h)
				time.Sleep(between(r, 0, 500*time.Millisecond))
			}
		}
	}
}

// timed makes a call, and checks that it comes back in time with an error that may be. A call that does not wait has
// callTime from the last answer on.
func (w *witness) timed(n *node, what string, wait time.Duration, ctx callerContext, call func() error) error {
	began := time.Now()
	err := call()
	now := time.Now()
	weather, heard := n.line.state()
	inTime := func(behind string, end time.Time) {
		if over := now.Sub(end); over > late {
			w.wrong("%s came back %s behind %s, after %s, while %s: %v", what, over, behind, now.Sub(began), weather, err)
		}
	}
	if !ctx.at.IsZero() {
		inTime("the end of its context", ctx.at)
	}
	switch {
	case wait == 0:
		inTime("a silence", began.Add(max(heard.Sub(began), 0)+callTime))
	case wait != lockrt.Forever:
		inTime("its wait", began.Add(wait))
	}
	isOver := !ctx.at.IsZero() && !now.Before(ctx.at)
	if !isOver && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		w.wrong("the context lives, and %s says: %v", what, err)
	}
	if errors.Is(err, lockrt.ErrOptions) || errors.Is(err, lockrt.ErrClosed) || errors.Is(err, lockrt.ErrNested) {
		w.wrong("%s: %v", what, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[what]++
	return err
}

// holding is what a caller believes to have.
type holding struct {
	lease     *lockrt.Lease
	key, kind string
	permits   int
}

func (h *holding) String() string {
	return fmt.Sprintf("%s of %q with fence %d and slot %d", h.kind, h.key, h.lease.Fence(), h.lease.Slot())
}

// beside reports whether two may hold a lock at the same time.
func (h *holding) beside(other *holding) bool {
	switch {
	case h.kind != other.kind:
		return false
	case h.kind == "permit":
		return h.lease.Slot() != other.lease.Slot()
	}
	return h.kind == "reader" && h.lease.Fence() == other.lease.Fence()
}

func (w *witness) enter(h *holding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h.lease.Err() != nil {
		return // it may have been over when the others came
	}
	w.seen[h.kind]++
	together, limit := 1, h.permits // who names a larger number may join those with a smaller one
	for other := range w.inside {
		if other.key != h.key || other.lease.Err() != nil {
			continue
		}
		if together, limit = together+1, max(limit, other.permits); !h.beside(other) {
			w.t.Errorf("a %s beside a %s", h, other)
		}
		w.seen[h.kind+"s together"]++
	}
	if h.kind == "permit" && together > limit {
		w.t.Errorf("a %s is one of %d, and there are %d", h, together, limit)
	}
	w.fence(h)
	w.inside[h] = true
}

// fence checks that fences grow in the order of acquisition. Readers may share one, also with the writer that became
// one of them, and permits grow slot by slot. It is called with mu held.
func (w *witness) fence(h *holding) {
	own, fence := place{h.key, h.kind, h.lease.Slot()}, h.lease.Fence()
	for other, before := range w.highest {
		shared := h.kind == "reader" && other.kind != "permit" && fence == before
		apart := other.key != h.key || h.kind == "permit" && other.kind == "permit" && other != own
		if fence <= before && !shared && !apart {
			w.t.Errorf("a %s behind the fence %d of a %s", h, before, other.kind)
		}
	}
	w.highest[own] = max(w.highest[own], fence)
}

func (w *witness) leave(h *holding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(h.lease.Err(), errPresumed) {
		w.seen["presumed"]++
	}
	delete(w.inside, h)
}
