package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Calls of many callers go out as one script. What happens to that one must come out right for each of them.

// lossy lets script calls run on the server and loses their answers.
type lossy struct {
	mu   sync.Mutex
	next int // how many more
}

var errReset = &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}

func (l *lossy) lose(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = n
}

func (l *lossy) takes(first redis.Cmder) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == 0 || first.Name() != "evalsha" {
		return false
	}
	l.next--
	return true
}

func (l *lossy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *lossy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if l.takes(cmd) {
			cmd.SetErr(errReset)
			return errReset
		}
		return err
	}
}

func (l *lossy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if l.takes(cmds[0]) {
			for _, cmd := range cmds {
				cmd.SetErr(errReset)
			}
			return errReset
		}
		return err
	}
}

// batchRig is a session whose calls can be held back and lose their answers.
type batchRig struct {
	*rig
	s     *session
	gate  *gate
	lossy *lossy
}

func newBatchRig(t *testing.T) *batchRig {
	t.Helper()
	r := newRig(t)
	c := &batchRig{gate: new(gate), lossy: new(lossy)}
	client := redis.NewClient(&redis.Options{Addr: r.client.Options().Addr, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	for _, s := range []*script{acquireScript, releaseScript, cancelScript} {
		if err := client.ScriptLoad(r.ctx, s.Source).Err(); err != nil {
			t.Fatal(err)
		}
	}
	client.AddHook(c.gate)
	client.AddHook(c.lossy)
	gated := *r
	gated.client = client
	c.rig, c.s = r, nil
	c.s, _ = gated.newSession(Config{})
	c.s.quick.able = false // what is held back is not sent again
	return c
}

const batchSize = 20

// together has work done by so many callers whose calls go out in one: the lanes of the combiner are taken until all
// have come. before runs when they have. The work of those who take the lanes is not looked at.
func (c *batchRig) together(combiner *combiner, work func(i int) error, before func()) []error {
	c.t.Helper()
	release := c.gate.hold(nil)
	var lanes sync.WaitGroup
	trips := c.gate.trips.Load()
	for i := range combineFull {
		lanes.Go(func() { _ = work(batchSize + i) })
		testsync.Eventually(c.t, "a lane is taken", func() bool { return c.gate.trips.Load() == trips+int64(i+1) })
	}
	errs := make([]error, batchSize)
	var callers sync.WaitGroup
	for i := range batchSize {
		combiner.Move() // however slow this machine is
		callers.Go(func() { errs[i] = work(i) })
		testsync.Eventually(c.t, "the caller waits", func() bool { return combiner.gathered() == i+1 })
	}
	// The lanes' own calls end as they like; the next is that of the batch.
	held := c.gate.hold(nil)
	release()
	testsync.Eventually(c.t, "the batch's call is being sent", func() bool { return c.gate.trips.Load() == trips+combineFull+1 })
	lanes.Wait()
	before()
	held()
	callers.Wait()
	return errs
}

func (c *batchRig) acquire(ctx context.Context, i int) error {
	_, err := c.s.Acquire(ctx, lockrt.Request{Key: fmt.Sprint("key", i), ID: fmt.Sprint("id", i), TTL: time.Hour})
	return err
}

func (c *batchRig) release(i int) error {
	return c.s.Release(c.ctx, lockrt.Release{Key: fmt.Sprint("key", i), ID: fmt.Sprint("id", i)})
}

// held is the owner of each lock, "" for a free one.
func (c *batchRig) held(i int) string {
	owner, _, _ := strings.Cut(c.client.Get(c.ctx, c.s.space.lock(fmt.Sprint("key", i))).Val(), " ")
	return owner
}

// The session repeats the call, each lease finds its lock, and the call that had no answer is remembered until it
// cannot act any more.
func TestBatch_acquiresWhoseAnswerIsLost(t *testing.T) {
	c := newBatchRig(t)
	errs := c.together(c.s.stripes[0].acquires, func(i int) error { return c.acquire(c.ctx, i) }, func() { c.lossy.lose(1) })
	for i, err := range errs {
		if err != nil || c.held(i) != fmt.Sprint("id", i) {
			t.Errorf("caller %d: %v, its lock is held by %q", i, err, c.held(i))
		}
		if err := c.release(i); err != nil {
			t.Errorf("release %d: %v", i, err)
		}
	}
	if n := c.s.leftovers.Left(); n != len(errs) {
		t.Errorf("the unanswered requests of %d callers are remembered, want %d", n, len(errs))
	}
}

func TestBatch_releasesWhoseAnswerIsLost(t *testing.T) {
	c := newBatchRig(t)
	for i := range batchSize + combineFull {
		if err := c.acquire(c.ctx, i); err != nil {
			t.Fatal(err)
		}
	}
	for i, err := range c.together(c.s.stripes[0].releases, c.release, func() { c.lossy.lose(1) }) {
		if err != nil {
			t.Errorf("caller %d: %v; its lease was released by the call whose answer was lost", i, err)
		}
		if owner := c.held(i); owner != "" {
			t.Errorf("lock %d is held by %q", i, owner)
		}
	}
}

// One caller of many gives up while the call is under way. The others get their locks; its own is taken back, but not
// before the call has run, which would find nothing to take back.
func TestBatch_callerThatGivesUpUnderWay(t *testing.T) {
	c := newBatchRig(t)
	ctx, cancel := context.WithCancel(c.ctx)
	const impatient = 7
	left := make(chan error, 1)
	errs := c.together(c.s.stripes[0].acquires, func(i int) error {
		if i != impatient {
			return c.acquire(c.ctx, i)
		}
		err := c.acquire(ctx, i)
		left <- err
		return err
	}, func() {
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the one that gave up: %v, want context.Canceled at once", err)
		}
	})
	for i, err := range errs {
		if i != impatient && (err != nil || c.held(i) != fmt.Sprint("id", i)) {
			t.Errorf("caller %d: %v, its lock is held by %q", i, err, c.held(i))
		}
	}
	testsync.Eventually(c.t, "the lock of the one that gave up is free", func() bool { return c.held(impatient) == "" })
}

// All callers give up while their call is under way, and the session closes: it waits for the call, which may get the
// locks, and takes them back. Nobody would after it.
func TestBatch_callersThatGiveUpAsTheSessionCloses(t *testing.T) {
	c := newBatchRig(t)
	ctx, cancel := context.WithCancel(c.ctx)
	var left sync.WaitGroup
	left.Add(batchSize)
	closed := make(chan error, 1)
	c.together(c.s.stripes[0].acquires, func(i int) error {
		if i < batchSize {
			defer left.Done()
		}
		return c.acquire(ctx, i)
	}, func() {
		cancel()
		left.Wait()
		go func() { closed <- c.s.Close(context.WithoutCancel(c.ctx)) }()
		select {
		case err := <-closed:
			t.Errorf("closed (%v) while the call was under way", err)
			closed <- nil
		case <-time.After(100 * time.Millisecond):
		}
	})
	if err := <-closed; err != nil {
		t.Error(err)
	}
	for i := range batchSize {
		if owner := c.held(i); owner != "" {
			t.Errorf("lock %d is held by %q after Close", i, owner)
		}
	}
}

// A proxy that garbles, or another program's script under our hash: no caller may take another's answer for its own.
func TestBatch_wrongNumberOfAnswers(t *testing.T) {
	part := []*item{{id: "a"}, {id: "b"}}
	for _, answers := range [][]any{{}, {int64(1)}, {int64(1), int64(1), int64(1)}} {
		cmd := redis.NewCmd(t.Context())
		cmd.SetVal(answers)
		settle(part, cmd)
		for _, e := range part {
			if e.err == nil || !strings.Contains(e.err.Error(), fmt.Sprintf("%d values for 2 leases", len(answers))) {
				t.Errorf("%d answers: %s is told %v, error %v", len(answers), e.id, e.answer, e.err)
			}
		}
	}
}

// A release that waits to be sent is given up by its caller. It goes on in the background all the same.
func TestBatch_releaseThatIsGivenUpBeforeItIsSent(t *testing.T) {
	c := newBatchRig(t)
	for i := range combineFull + 1 {
		if err := c.acquire(c.ctx, i); err != nil {
			t.Fatal(err)
		}
	}
	open := c.gate.hold(nil)
	trips := c.gate.trips.Load()
	var lanes sync.WaitGroup
	for i := range combineFull {
		lanes.Go(func() { _ = c.release(1 + i) })
		testsync.Eventually(t, "a lane is taken", func() bool { return c.gate.trips.Load() == trips+int64(i+1) })
	}
	ctx, cancel := context.WithCancel(c.ctx)
	left := make(chan error, 1)
	go func() { left <- c.s.Release(ctx, lockrt.Release{Key: "key0", ID: "id0"}) }()
	combiner := c.s.stripes[0].releases
	testsync.Eventually(t, "the caller waits", func() bool { return combiner.gathered() == 1 })
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("release: %v, want context.Canceled", err)
	}
	open()
	lanes.Wait()
	testsync.Eventually(t, "the lock is free", func() bool { return c.held(0) == "" })
}

// A release with a MinHold fails. The lock is free when that is over, and not at the end of the TTL.
func TestSession_Release_minHoldThatFails(t *testing.T) {
	t.Parallel()
	c := newBatchRig(t)
	if err := c.acquire(c.ctx, 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	const keep = 2 * time.Second
	began := time.Now()
	open := c.gate.hold(nil)
	err := c.s.Release(ctx, lockrt.Release{Key: "key0", ID: "id0", Keep: keep})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("release: %v, want context.Canceled", err)
	}
	c.lossy.lose(1) // what was under way does not count either
	open()
	testsync.Eventually(t, "the lock is free", func() bool { return c.held(0) == "" })
	if took := time.Since(began); took < keep {
		t.Errorf("the lock was free after %s of a MinHold of %s", took, keep)
	}
}

// Close does not cut short a MinHold that the server could not be told of.
func TestSession_Close_minHoldThatFailed(t *testing.T) {
	c := newBatchRig(t)
	if err := c.acquire(c.ctx, 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	open := c.gate.hold(nil)
	_ = c.s.Release(ctx, lockrt.Release{Key: "key0", ID: "id0", Keep: time.Hour})
	c.lossy.lose(1)
	open()
	if err := c.s.Close(context.WithoutCancel(c.ctx)); err != nil || c.held(0) != "id0" && c.held(0) != "-" {
		t.Errorf("Close: %v; the lock is held by %q", err, c.held(0))
	}
}

// Releases have failed when the session closes, and the server is there again: none of them is forgotten.
func TestSession_Close_failedReleases(t *testing.T) {
	t.Parallel()
	c := newBatchRig(t)
	const n = 100
	for i := range n {
		if err := c.acquire(c.ctx, i); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	open := c.gate.hold(nil)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { _ = c.s.Release(ctx, lockrt.Release{Key: fmt.Sprint("key", i), ID: fmt.Sprint("id", i)}) })
	}
	all.Wait()
	closed := make(chan error, 1)
	go func() { closed <- c.s.Close(context.WithoutCancel(c.ctx)) }()
	time.AfterFunc(1500*time.Millisecond, open) // the first cancel of Close has no answer
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
	for i := range n {
		if id := c.held(i); id != "" {
			t.Fatalf("lock %d is left to its TTL, held by %q", i, id)
		}
	}
}

// The server stays silent: Close ends, and says what it leaves.
func TestSession_Close_failedReleasesAtASilentServer(t *testing.T) {
	t.Parallel()
	c := newBatchRig(t)
	if err := c.acquire(c.ctx, 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	defer c.gate.hold(nil)()
	_ = c.s.Release(ctx, lockrt.Release{Key: "key0", ID: "id0"})
	if err := c.s.Close(context.WithoutCancel(c.ctx)); err == nil || !strings.Contains(err.Error(), "left to their TTL") {
		t.Errorf("Close: %v, want that a lock is left to its TTL", err)
	}
	c.s.leftovers = c.s.newJanitor() // the rig closes the session, too
}
