package lockrt_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// This file is the callers of the random test, see chaos_test.go.

// chaosRound is one round.
type chaosRound struct {
	o       *oracle
	store   *chaosStore
	keys    []string
	lockers map[string]*lockrt.Locker
	names   []string
	slowLog time.Duration
}

// callerContext is a context of a caller's that knows when it ended.
type callerContext struct {
	context.Context
	cancels []context.CancelFunc

	mu sync.Mutex
	at time.Time // zero while it lives
}

func (c *callerContext) cancel() {
	c.mu.Lock()
	if c.at.IsZero() {
		c.at = time.Now()
	}
	c.mu.Unlock()
	for _, cancel := range c.cancels {
		cancel()
	}
}

// end is when it ended.
func (c *callerContext) end() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if deadline, ok := c.Deadline(); ok && !time.Now().Before(deadline) && (c.at.IsZero() || deadline.Before(c.at)) {
		return deadline
	}
	return c.at
}

// someContext ends in some way, once in so many times.
func someContext(rnd *rand.Rand, oftenLives int) *callerContext {
	ctx, stop := context.WithCancel(context.Background())
	c := &callerContext{Context: ctx, cancels: []context.CancelFunc{stop}}
	if rnd.IntN(oftenLives) > 0 {
		return c
	}
	switch after := someTime(rnd); rnd.IntN(3) {
	case 0:
		time.AfterFunc(after, c.cancel)
	case 1:
		limited, stopLimit := context.WithTimeout(ctx, after)
		c.Context, c.cancels = limited, append(c.cancels, stopLimit)
	default:
		c.cancel()
	}
	return c
}

func someTime(rnd *rand.Rand) time.Duration {
	most := []time.Duration{time.Millisecond, 20 * time.Millisecond, time.Second, 7 * time.Second}[rnd.IntN(4)]
	return time.Duration(rnd.Int64N(int64(most)))
}

func someOptions(rnd *rand.Rand) lockrt.Options {
	ttls := []time.Duration{10 * time.Millisecond, 200 * time.Millisecond, 3 * time.Second, 3 * time.Second, 12 * time.Second}
	o := lockrt.Options{TTL: ttls[rnd.IntN(len(ttls))]}
	switch rnd.IntN(4) {
	case 0:
	case 1:
		o.Wait = someTime(rnd)
	default:
		o.Wait = lockrt.Forever
	}
	switch rnd.IntN(6) {
	case 0, 1:
		o.Mode = lockrt.Read
	case 2:
		o.Permits = 2 + rnd.IntN(2)
	}
	if rnd.IntN(10) == 0 && o.Mode != lockrt.Read {
		o.MinHold = someTime(rnd)
	}
	switch rnd.IntN(15) {
	case 0:
		o.NoRenew = true
	case 1:
		o.MaxHold = max(o.MinHold, time.Millisecond) + someTime(rnd)
	}
	o.Reentrant = rnd.IntN(4) == 0
	return o
}

// visit is what one caller does once.
func (r *chaosRound) visit(rnd *rand.Rand) {
	name := r.names[rnd.IntN(len(r.names))]
	locks, o := r.lockers[name], someOptions(rnd)
	ctx := someContext(rnd, 3)
	defer ctx.cancel()
	began := time.Now()
	var until time.Time
	if o.Wait != lockrt.Forever {
		until = began.Add(max(o.Wait, 0))
		if o.Wait == 0 {
			until = began.Add(5*time.Second + 5*time.Second) // one request, and a renewal of what came late
		}
	}
	var leases lockrt.Leases
	var err error
	what := fmt.Sprintf("%s acquire", name)
	keys := []string{r.keys[rnd.IntN(len(r.keys))]}
	if w := r.store.weather; rnd.IntN(6) == 0 && (w.exits || w.panics == 0) {
		n := 2
		if rnd.IntN(2) == 0 {
			n = len(r.keys)
		}
		keys = nil
		for range n {
			keys = append(keys, r.keys[rnd.IntN(len(r.keys))])
		}
		what = fmt.Sprintf("%s AcquireAll", name)
	}
	for _, key := range keys {
		defer r.session(name).begin("call " + key)()
	}
	each := make(map[string]lockrt.Options)
	for _, key := range keys {
		each[key] = o
	}
	if len(keys) > 1 && rnd.IntN(3) == 0 {
		what = fmt.Sprintf("%s AcquireEach", name)
		for key := range each {
			own := o
			if own.Mode, own.Permits = lockrt.Mode(rnd.IntN(2)), 0; rnd.IntN(4) == 0 && own.Mode == lockrt.Write {
				own.Permits = 2
			}
			if own.MinHold > 0 {
				own.Mode = lockrt.Write
			}
			each[key] = own
		}
	}
	survives(func() {
		if strings.HasSuffix(what, "Each") {
			var names []lockrt.KeyOptions
			for key, own := range each {
				names = append(names, lockrt.KeyOptions{Key: key, Mode: own.Mode, Permits: own.Permits})
			}
			all := o
			all.Mode, all.Permits = lockrt.Write, 0
			leases, err = locks.AcquireEach(ctx, names, all)
			return
		}
		if len(keys) > 1 {
			leases, err = locks.AcquireAll(ctx, keys, o)
			return
		}
		defer r.session(name).begin("one " + keys[0])()
		var lease *lockrt.Lease
		if lease, err = locks.Acquire(ctx, keys[0], o); err == nil {
			leases = lockrt.Leases{lease}
		}
	}, func() { err = errors.New("it did not return") })
	r.o.logf("%s %v wait %s ttl %s: %v", what, keys, o.Wait, o.TTL, err)
	more := time.Duration(0)
	if len(keys) > 1 && o.Wait == 0 { // each key is tried, until slow answers have taken 5 s
		more = 10 * time.Second
	}
	r.o.within(what, ctx.end(), until, more)
	r.o.notOurs(what, ctx, err)
	if err != nil && (len(keys) > 1 && r.store.weather.panics > 0 || strings.Contains(err.Error(), "did not return")) {
		r.o.mu.Lock()
		r.o.logs[name] = append(r.o.logs[name], fmt.Sprint("not released yet, and not told: ", keys))
		r.o.mu.Unlock()
	}
	if err != nil {
		says := func(text string) bool { return strings.Contains(err.Error(), text) }
		known := says("chaos") || errors.Is(err, lockrt.ErrClosed) || says("did not return")
		if o.Wait != lockrt.Forever {
			isOver := !time.Now().Before(until)
			known = known || isOver && errors.Is(err, lockrt.ErrLost) || says("waited for") || says("nothing is left of the lease")
		}
		unexpected := o.Wait == lockrt.Forever || !errors.Is(err, lockrt.ErrBusy) && o.Wait > time.Second
		if len(keys) == 1 && ctx.end().IsZero() && !known && unexpected {
			r.o.wrong("%s, with a wait of %s, after %s: %v", what, o.Wait, time.Since(began), err)
		}
		if _, closing := r.o.closingSince(name); errors.Is(err, lockrt.ErrClosed) && !closing {
			r.o.wrong("%s: %v, and nobody has closed it", what, err)
		}
		if errors.Is(err, lockrt.ErrOptions) || errors.Is(err, lockrt.ErrNested) {
			r.o.wrong("%s with %+v: %v", what, o, err)
		}
		return
	}
	since := time.Now()
	if len(keys) > 1 {
		since = began // it had to wait for others
	}
	var all sync.WaitGroup
	for _, lease := range leases {
		h := r.o.enter(name, lease, each[lease.Key()], since)
		own := rand.New(rand.NewPCG(rnd.Uint64(), 7))
		all.Go(func() { r.work(name, h, own) })
	}
	all.Wait()
}

func (r *chaosRound) session(name string) *chaosSession {
	r.o.mu.Lock()
	defer r.o.mu.Unlock()
	return r.o.sessions[name]
}

// survives runs f, which may panic or exit, and then calls dead.
func survives(f, dead func()) {
	var over sync.WaitGroup
	over.Go(func() {
		returned := false
		defer func() {
			if !returned {
				p := recover()
				dead()
				if p != nil && p != "chaos: driver" {
					panic(p)
				}
			}
		}()
		f()
		returned = true
	})
	over.Wait()
}

// work is what is done under a lease, up to its release.
func (r *chaosRound) work(name string, h *holding, rnd *rand.Rand) {
	lease, locks := h.lease, r.lockers[name]
	defer r.o.lossIsTrue(h)
	var undo func()
	for range rnd.IntN(3) {
		select {
		case <-time.After(someTime(rnd)):
		case <-lease.Done():
		}
		ctx := someContext(rnd, 3)
		switch rnd.IntN(10) {
		case 9:
			r.within(name, h, rnd)
		case 0:
			survives(func() {
				by := []time.Duration{h.o.TTL, 20 * time.Second}[rnd.IntN(2)]
				r.inTime("extend", ctx, func() error { return lease.Extend(ctx, by) })
			}, func() {})
		case 1:
			r.inTime("check", ctx, func() error { return lease.Check(ctx) })
		case 2, 3:
			if h.kind == "writers" && h.o.MinHold == 0 {
				r.o.downgrades(h)
				survives(func() {
					r.inTime("downgrade", ctx, func() error { return lease.Downgrade(ctx) })
				}, func() {})
				r.o.downgradeEnded(h)
			}
		case 4:
			r.breakKey(ctx, locks, h)
		case 5:
			if undo == nil {
				if free, err := lease.Anchor(); err == nil {
					undo = free
					r.o.anchor(h, true)
				}
			}
		case 6:
			if h.o.Reentrant && h.kind == "writers" {
				survives(func() { r.nested(locks, h) }, func() {})
			}
		}
		ctx.cancel()
	}
	if undo != nil && rnd.IntN(2) == 0 {
		r.o.anchor(h, false)
		undo()
		undo()
	}
	if rnd.IntN(12) == 0 && h.early { // left to its end
		r.o.mu.Lock()
		h.abandoned = true
		r.o.mu.Unlock()
		return
	}
	times := 1 + rnd.IntN(2)
	var all sync.WaitGroup
	for range times {
		ctx := someContext(rnd, 3)
		all.Go(func() {
			defer ctx.cancel()
			r.release(ctx, h)
		})
	}
	all.Wait()
	for range 2 {
		r.o.mu.Lock()
		again := !h.released
		r.o.mu.Unlock()
		if !again {
			return
		}
		time.Sleep(50 * time.Millisecond)
		r.release(&callerContext{Context: context.Background()}, h)
	}
}

func (r *chaosRound) release(ctx *callerContext, h *holding) {
	survives(func() {
		err := r.inTime("release", ctx, func() error { return h.lease.Release(ctx) })
		if h.lease.Err() == nil {
			r.o.wrong("%s: a lease that was released lives", h.key)
		}
		r.o.released(h, err)
	}, func() { r.o.released(h, errors.New("it did not return")) })
}

// inTime checks a call that has 5 s, and what it says of the end of its context.
func (r *chaosRound) inTime(what string, ctx *callerContext, call func() error) error {
	began := time.Now()
	err := call()
	r.o.within(what, ctx.end(), began.Add(5*time.Second), 0)
	r.o.notOurs(what, ctx, err)
	return err
}

func (r *chaosRound) breakKey(ctx context.Context, locks *lockrt.Locker, h *holding) {
	r.o.mu.Lock()
	for _, other := range r.o.inside {
		if other.key == h.key {
			other.broken = true
		}
	}
	r.o.breaks[h.key]++
	delete(r.o.keep, h.key) // a Break ends that, too
	r.o.mu.Unlock()
	r.o.logf("break %s", h.key)
	_ = locks.Break(ctx, h.key, "chaos")
}

// nested takes the key once more within the lease.
func (r *chaosRound) nested(locks *lockrt.Locker, h *holding) {
	ctx := h.lease.Context()
	opts := lockrt.Options{TTL: h.o.TTL, Reentrant: true}
	if len(h.key)%2 == 0 {
		opts.MinHold = 500 * time.Millisecond
	}
	inner, err := locks.Acquire(ctx, h.key, opts)
	if err != nil {
		if h.lease.Err() == nil && !errors.Is(err, lockrt.ErrClosed) && !errors.Is(err, lockrt.ErrLost) && !errors.Is(err, lockrt.ErrNotHeld) {
			r.o.wrong("%s: an inner acquire: %v", h.key, err)
		}
		return
	}
	if opts.MinHold > 0 {
		r.o.mu.Lock()
		h.o.MinHold = max(h.o.MinHold, time.Since(h.since)+opts.MinHold-time.Millisecond)
		r.o.mu.Unlock()
	}
	if inner.Fence() != h.lease.Fence() && h.lease.Err() == nil {
		r.o.wrong("%s: the inner fence is %d, the outer %d", h.key, inner.Fence(), h.lease.Fence())
	}
	time.Sleep(time.Millisecond)
	if err := inner.Release(context.Background()); err != nil && !errors.Is(err, lockrt.ErrLost) {
		r.o.wrong("%s: release of an inner lease: %v", h.key, err)
	}
}

// within takes a later key within the lease.
func (r *chaosRound) within(name string, h *holding, rnd *rand.Rand) {
	at := slices.Index(r.keys, h.key) + 1
	if at == len(r.keys) || h.o.Reentrant {
		return
	}
	key, o := r.keys[at+rnd.IntN(len(r.keys)-at)], someOptions(rnd)
	o.Wait = min(o.Wait, 200*time.Millisecond)
	if lockrt.Held(h.lease.Context(), key) != nil {
		return // of the same set
	}
	var inner *lockrt.Lease
	defer r.session(name).begin("call " + key)()
	survives(func() { inner, _ = r.lockers[name].Acquire(h.lease.Context(), key, o) }, func() {})
	if inner == nil {
		return
	}
	own := r.o.enter(name, inner, o, time.Now())
	time.Sleep(someTime(rnd))
	if h.lease.Err() != nil && inner.Context().Err() == nil {
		r.o.wrong("%s: the context of a lease within one that is over lives", key)
	}
	for range 3 {
		r.release(&callerContext{Context: context.Background()}, own)
		r.o.mu.Lock()
		released := own.released
		r.o.mu.Unlock()
		if released {
			return
		}
	}
}

// close closes a Locker, more than once.
func (r *chaosRound) close(name string, rnd *rand.Rand) {
	locks, s := r.lockers[name], r.session(name)
	r.o.mu.Lock()
	r.o.closing[name] = time.Now()
	r.o.mu.Unlock()
	r.o.logf("%s closes", name)
	var others sync.WaitGroup
	for range rnd.IntN(3) {
		ctx := someContext(rnd, 2)
		others.Go(func() {
			defer ctx.cancel()
			err := locks.Close(ctx)
			r.o.within("close", ctx.end(), time.Time{}, 0)
			r.o.notOurs("close", ctx, err)
		})
		if rnd.IntN(2) == 0 {
			time.Sleep(someTime(rnd))
		}
	}
	from := time.Now()
	err := locks.Close(context.Background())
	s.mu.Lock()
	if s.answered.After(from) {
		from = s.answered
	}
	s.mu.Unlock()
	if took := time.Since(from); took > 6500*time.Millisecond+r.slowLog {
		r.o.wrong("Close of %s came back %s after the last answer of the store: %v", name, took, err)
	}
	r.o.notOurs("close", context.Background(), err)
	r.o.closed(name, r.keys, err)
	if r.slowLog < time.Second {
		r.o.lossesTold(name)
	}
	others.Wait()
	if again := locks.Close(context.Background()); fmt.Sprint(again) != fmt.Sprint(err) {
		r.o.wrong("Close of %s returned %v, and then %v", name, err, again)
	}
	if _, err := locks.Acquire(context.Background(), r.keys[0], lockrt.Options{TTL: time.Second}); !errors.Is(err, lockrt.ErrClosed) {
		r.o.wrong("an acquire of %s behind Close: %v", name, err)
	}
}
