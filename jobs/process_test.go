package jobs_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	. "github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// The test binary becomes a node of a cluster when childEnv names it. It runs the job "j" every second, which tells of
// its begin in the list "begins", until its standard input ends.
const (
	childEnv     = "JOBS_TEST_CHILD"
	childAddrEnv = "JOBS_TEST_ADDR"
	witnessEnv   = "JOBS_TEST_WITNESS" // the server that hears of begins; the same one if it is not set
	specEnv      = "JOBS_TEST_SPEC"    // of the job; every second if it is not set
)

func beChild(name string) {
	if err := runChild(name); err != nil {
		fmt.Fprintln(os.Stderr, name, err)
		os.Exit(1)
	}
}

func runChild(name string) error {
	client := redis.NewClient(&redis.Options{Addr: os.Getenv(childAddrEnv), ContextTimeoutEnabled: true})
	defer client.Close()
	teller := redis.NewClient(&redis.Options{Addr: cmp.Or(os.Getenv(witnessEnv), os.Getenv(childAddrEnv)), MaxRetries: -1}) // says nothing twice
	defer teller.Close()
	locks, err := lockrt.New(redisstore.New(client, redisstore.Config{}),
		lockrt.Config{Node: name, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	s, err := New(locks, Config{Logger: slog.New(slog.DiscardHandler), History: 1000, OnRun: func(r Run) {
		teller.RPush(context.Background(), "records", string(r.Outcome)+" "+r.Tick.UTC().Format(time.RFC3339))
	}})
	if err != nil {
		return err
	}
	err = s.Add(Job{
		Name: "j", Spec: cmp.Or(os.Getenv(specEnv), "@every 1s"), Misfire: MisfireAll, MisfireCap: 1000, Overlap: OverlapQueue,
		Lock: lockrt.Options{TTL: 3 * time.Second},
		Run: func(ctx context.Context) error {
			_, tick, _ := TickFromContext(ctx)
			if err := teller.RPush(ctx, "begins", name+" "+tick.UTC().Format(time.RFC3339)).Err(); err != nil {
				return err
			}
			select {
			case <-time.After(300 * time.Millisecond): // long enough to be interrupted
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes it or dies
		stop()
	}()
	if err := s.Run(ctx); err != nil {
		return err
	}
	return locks.Close(context.Background())
}

// processes is a cluster of such nodes.
type processes struct {
	t      *testing.T
	client *redis.Client
	addr   string
	nodes  map[string]*exec.Cmd
	stdin  map[string]io.Closer
	begins map[string]int // by tick
}

func (p *processes) start(env ...string) {
	p.t.Helper()
	name := fmt.Sprint("process-", len(p.nodes))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childEnv+"="+name, childAddrEnv+"="+p.addr), env...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = cmd.Process.Kill() }) // ends a stopped process too
	p.nodes[name], p.stdin[name] = cmd, stdin
}

// begin waits for the next run to begin and returns the name of its node.
func (p *processes) begin() string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		said, err := p.client.BLPop(ctx, 10*time.Second, "begins").Result()
		if err == nil {
			node, tick, _ := strings.Cut(said[1], " ")
			p.begins[tick]++
			return node
		}
		if ctx.Err() != nil {
			p.t.Fatalf("no run begins: %v", err)
		}
	}
}

// signal sends to the node that has just begun a run.
func (p *processes) signal(node string, what syscall.Signal) {
	p.t.Helper()
	if err := p.nodes[node].Process.Signal(what); err != nil {
		p.t.Fatal(err)
	}
}

// TestScheduler_processes kills a process in mid-run, stops another for longer than its session and its lock last, and
// restarts the server: no tick begins twice, and every tick has a record that says what became of it.
func TestScheduler_processes(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t, testenv.RedisConfig{AOF: true})
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	p := &processes{
		t: t, client: client, addr: server.Addr(),
		nodes: make(map[string]*exec.Cmd), stdin: make(map[string]io.Closer), begins: make(map[string]int),
	}
	for range 3 {
		p.start()
	}
	p.begin()
	killed := p.begin()
	p.signal(killed, syscall.SIGKILL)
	_ = p.nodes[killed].Wait() // it was killed
	p.start()
	stopped := p.begin()
	p.signal(stopped, stopSignal)
	for range 3 {
		if node := p.begin(); node == stopped || node == killed {
			t.Errorf("%s begins a run although it is stopped or dead", node)
		}
	}
	p.signal(stopped, continueSignal)
	p.begin()
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p.begin()
	}
	for name, node := range p.nodes {
		p.stdin[name].Close()
		if name == killed {
			continue
		}
		if err := node.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.judge()
}

func (p *processes) judge() {
	ctx := context.Background()
	rest, err := p.client.LRange(ctx, "begins", 0, -1).Result()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, said := range rest {
		_, tick, _ := strings.Cut(said, " ")
		p.begins[tick]++
	}
	for tick, n := range p.begins {
		if n != 1 {
			p.t.Errorf("tick %s began %d times", tick, n)
		}
	}
	store := NewRedisStore(p.client, "lock")
	records, err := store.Runs(ctx, []string{"j"}, 1000)
	if err != nil {
		p.t.Fatal(err)
	}
	interrupted := 0
	var first, last time.Time
	known := make(map[time.Time]bool)
	for _, r := range records[0] {
		if r.Outcome != OutcomeOK && !r.Started.IsZero() {
			interrupted++ // begun, and then its node or the server went
		}
		if r.Outcome == OutcomeOK && p.begins[r.Tick.Format(time.RFC3339)] != 1 {
			p.t.Errorf("record %+v says ok, and nobody told of its begin", r)
		}
		known[r.Tick] = true
		if first.IsZero() || r.Tick.Before(first) {
			first = r.Tick
		}
		if r.Tick.After(last) {
			last = r.Tick
		}
	}
	// The killed run, the stopped one, and those that were at work or about to be while the server was away.
	if interrupted < 1 || interrupted > 5 {
		p.t.Errorf("%d runs were interrupted, want the killed one and some more: %+v", interrupted, records[0])
	}
	left, err := store.InFlight(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, run := range left {
		known[run.Run.Tick] = true // passed on by the last node to leave
	}
	for tick := first; tick.Before(last); tick = tick.Add(time.Second) {
		if !known[tick] {
			p.t.Errorf("tick %s has no record", tick)
		}
	}
}
