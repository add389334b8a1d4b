package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/redisscript"
	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
)

// gate counts the client's round trips, and holds those back that it is told to.
type gate struct {
	trips atomic.Int64
	mu    sync.Mutex
	held  chan struct{} // nil: open
	fail  error         // what held trips return instead of going on
}

func (g *gate) hold(fail error) (release func()) {
	held := make(chan struct{})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held, g.fail = held, fail
	return func() {
		g.mu.Lock()
		if g.held == held {
			g.held = nil
		}
		g.mu.Unlock()
		close(held)
	}
}

// open lets new trips pass; held ones stay.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = nil
}

func (g *gate) pass(first redis.Cmder) error {
	if first.Name() != "evalsha" {
		return nil // the greeting of a new connection
	}
	g.trips.Add(1)
	g.mu.Lock()
	held, fail := g.held, g.fail
	g.mu.Unlock()
	if held == nil {
		return nil
	}
	<-held
	return fail
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := g.pass(cmd); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := g.pass(cmds[0]); err != nil {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		}
		return next(ctx, cmds)
	}
}

func newCombiner(t *testing.T) (*combiner, *gate) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: testenv.Redis(t).Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.ScriptLoad(t.Context(), echoScript.Source).Err(); err != nil {
		t.Fatal(err)
	}
	g := new(gate)
	client.AddHook(g)
	clock, made := newServerClock(), newCalls()
	t.Cleanup(func() { made.Close(time.Now().Add(time.Minute)) })
	return (&combiner{
		client: client, script: echoScript, batch: combineBatch, args: func(t terms, _ int64) []any { return []any{t.ttl} },
		latest: clock.Latest, calls: made,
	}).init(), g
}

// echoScript answers each id with the terms and the id, and keeps it. It fails half-way if one is called poison.
var echoScript = func() *script {
	source := `local answers = {}
for i = 2, #ARGV do
  if ARGV[i] == 'poison' then return redis.error_reply('WRONGTYPE of one lock') end
  redis.call('SADD', 'seen', ARGV[i])
  answers[i - 1] = ARGV[1] .. ' ' .. ARGV[i]
end
return #answers == 1 and answers[1] or answers`
	return redisscript.New(source)
}()

// echo starts a call and returns the channel of its result.
func echo(ctx context.Context, c *combiner, text string) <-chan error {
	done := make(chan error, 1)
	go func() {
		e := &item{id: text, terms: terms{ttl: int64(len(text))}}
		err := c.do(ctx, c.calls.limits.Next(), e)
		if want := fmt.Sprint(len(text), " ", text); err == nil && e.answer != want {
			err = fmt.Errorf("answered %v, want %q", e.answer, want)
		}
		done <- err
	}()
	return done
}

func (c *combiner) gathered() int { return c.State().Waiting }

// combineFull is how many calls are in flight before the next caller has to wait.
const combineFull = combineAlone + combineLanes

// fill takes all lanes with calls that are held.
func fill(t *testing.T, c *combiner, g *gate) (results []<-chan error) {
	t.Helper()
	for i := range combineFull {
		results = append(results, echo(t.Context(), c, "in flight"))
		testsync.Eventually(t, "a call is in flight", func() bool { return g.trips.Load() == int64(i+1) })
	}
	return results
}

func TestCombiner_gathersWhatComesWhileLanesAreTaken(t *testing.T) {
	c, g := newCombiner(t)
	release := g.hold(nil)
	results := fill(t, c, g)
	const callers = 50
	for i := range callers {
		c.Move() // however slow this machine is
		results = append(results, echo(t.Context(), c, fmt.Sprint("caller ", i)))
		testsync.Eventually(t, "the caller waits", func() bool { return c.gathered() == i+1 })
	}
	release()
	for _, result := range results {
		if err := <-result; err != nil {
			t.Error(err)
		}
	}
	if trips := g.trips.Load(); trips != combineFull+1 {
		t.Errorf("%d round trips for %d callers, want one for each of the first and one for all the others", trips, len(results))
	}
	testsync.Eventually(t, "the lanes are free again", func() bool { return c.State().InFlight == 0 })
}

func TestCombiner_callerThatGivesUpDoesNotWait(t *testing.T) {
	c, g := newCombiner(t)
	release := g.hold(nil)
	results := fill(t, c, g)
	ctx, cancel := context.WithCancel(t.Context())
	impatient := echo(ctx, c, "impatient")
	testsync.Eventually(t, "the caller waits", func() bool { return c.gathered() == 1 })
	cancel()
	if err := <-impatient; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want context.Canceled", err)
	}
	release()
	for _, result := range results {
		if err := <-result; err != nil {
			t.Error(err)
		}
	}
}

func TestCombiner_deadConnectionsDoNotStopOthers(t *testing.T) {
	c, g := newCombiner(t)
	release := g.hold(errors.New("connection reset"))
	results := fill(t, c, g)
	stuck := echo(t.Context(), c, "gathered behind them")
	testsync.Eventually(t, "the caller waits", func() bool { return c.gathered() == 1 })
	g.open()
	testsync.Eventually(t, "the lanes count as stuck", func() bool { return c.State().Stalled })
	if err := <-echo(t.Context(), c, "later"); err != nil {
		t.Error(err)
	}
	if err := <-stuck; err != nil {
		t.Errorf("the one that was gathered: %v", err)
	}
	release()
	for _, result := range results {
		if err := <-result; err == nil || err.Error() != "connection reset" {
			t.Errorf("a call on a dead connection: %v", err)
		}
	}
}

// An acquire that was given up before it was sent must never be sent: the cancel that follows would come before it.
func TestCombiner_entryThatWasGivenUpInTimeIsNotSent(t *testing.T) {
	c, g := newCombiner(t)
	release := g.hold(nil)
	results := fill(t, c, g)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.do(ctx, c.calls.limits.Next(), &item{id: "given up"}) }()
	testsync.Eventually(t, "the caller waits", func() bool { return c.gathered() == 1 })
	cancel()
	if err := <-done; errors.As(err, new(*underWayError)) {
		t.Errorf("the error says that the command is under way: %v", err)
	}
	release()
	for _, result := range results {
		if err := <-result; err != nil {
			t.Error(err)
		}
	}
	if sent := c.client.SIsMember(t.Context(), "seen", "given up").Val(); sent {
		t.Error("the command was sent")
	}
}

// One that is being sent may run later than its caller leaves; the caller learns until when.
func TestCombiner_entryThatIsUnderWayMayActUntilItsLatest(t *testing.T) {
	c, g := newCombiner(t)
	release := g.hold(nil)
	results := fill(t, c, g)
	ctx, cancel := context.WithCancel(t.Context())
	leaves := echo(ctx, c, "leaves")
	testsync.Eventually(t, "the caller waits", func() bool { return c.gathered() == 1 })
	// The lanes go on, the gathered call is held.
	trips := g.trips.Load()
	releaseBatch := g.hold(nil)
	release()
	testsync.Eventually(t, "the batch is being sent", func() bool { return g.trips.Load() == trips+1 })
	cancel()
	var underWay *underWayError
	if err := <-leaves; !errors.As(err, &underWay) || !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v, want context.Canceled and that the command is under way", err)
	}
	if end := c.latest(time.Now().Add(callTime)); underWay.latest <= 0 || underWay.latest > end {
		t.Errorf("it may act until %d, want no later than %d", underWay.latest, end)
	}
	releaseBatch()
	for _, result := range results {
		if err := <-result; err != nil {
			t.Error(err)
		}
	}
}
