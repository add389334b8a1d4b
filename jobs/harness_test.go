package jobs_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	jobredis "github.com/lockgen/lockgen/jobs/redisstore"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// The test binary becomes a node of a cluster when childEnv names it. It runs the job "j" every second, which tells a
// witness of its begin in the list "begins", of its record in "records" and of what the store says of it in "told", until
// its standard input ends.
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
	// says nothing twice
	teller := redis.NewClient(&redis.Options{Addr: cmp.Or(os.Getenv(witnessEnv), os.Getenv(childAddrEnv)),
		MaxRetries: -1})
	defer teller.Close()
	locks, err := lockrt.New(redisstore.New(client, redisstore.Config{}),
		lockrt.Config{Node: name, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	s, err := New(locks, Config{
		Store:  witnessed{jobredis.New(client, "lock"), name, teller},
		Logger: slog.New(slog.DiscardHandler), History: 1000, OnRun: func(r Run) {
			teller.RPush(context.Background(), "records", string(r.Outcome)+" "+r.Tick.UTC().Format(time.RFC3339))
		},
	})
	if err != nil {
		return err
	}
	err = s.Add(Job{
		Name: "j", Spec: cmp.Or(os.Getenv(specEnv), "@every 1s"), Misfire: MisfireAll, MisfireCap: 1000,
		Overlap: OverlapQueue,
		Lock:    lockrt.Options{TTL: 3 * time.Second},
		Run: func(ctx context.Context) error {
			_, tick, _ := TickFromContext(ctx)
			if err := teller.RPush(ctx, "begins", fmt.Sprint(name, " ", tick.UTC().Format(time.RFC3339), " ",
				time.Now().UnixMicro())).Err(); err != nil {
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

// processes is a cluster of such nodes, and the witness that hears of what they do.
type processes struct {
	t       *testing.T
	addr    string        // of the server with the jobs
	store   Store         // on it
	witness *redis.Client // may be on it as well
	nodes   map[string]*process
	running []string           // names
	begins  map[string][]begun // by tick
	losses  []loss             // of data, in order
	told    []told             // only once judge has been called
}

type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended time.Time // zero: it runs
}

// begun is the begin of a run.
type begun struct {
	node string
	at   time.Time
}

// noteBegin takes in an element of the list "begins".
func (p *processes) noteBegin(said string) begun {
	p.t.Helper()
	var node, tick string
	var at int64
	if _, err := fmt.Sscan(said, &node, &tick, &at); err != nil {
		p.t.Fatal(err)
	}
	b := begun{node, time.UnixMicro(at)}
	p.begins[tick] = append(p.begins[tick], b)
	return b
}

func newProcesses(t *testing.T, server, witness *testenv.RedisServer) *processes {
	client, hearer := redis.NewClient(&redis.Options{Addr: server.Addr()}),
		redis.NewClient(&redis.Options{Addr: witness.Addr()})
	t.Cleanup(func() {
		_ = client.Close()
		_ = hearer.Close()
	})
	return &processes{
		t: t, addr: server.Addr(), store: jobredis.New(client, "lock"), witness: hearer,
		nodes: make(map[string]*process), begins: make(map[string][]begun),
	}
}

// start starts a node with a spec of the job.
func (p *processes) start(spec string) {
	p.t.Helper()
	name := fmt.Sprint("process-", len(p.nodes))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+name, childAddrEnv+"="+p.addr, witnessEnv+"="+p.witness.Options().Addr,
		specEnv+"="+spec)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = cmd.Process.Kill() }) // ends a stopped process too
	p.nodes[name] = &process{cmd: cmd, stdin: stdin}
	p.running = append(p.running, name)
}

// signal sends to a node.
func (p *processes) signal(node string, what syscall.Signal) {
	p.t.Helper()
	if err := p.nodes[node].cmd.Process.Signal(what); err != nil {
		p.t.Fatal(err)
	}
}

// kill kills a node.
func (p *processes) kill(node string) {
	p.t.Helper()
	p.signal(node, syscall.SIGKILL)
	_ = p.nodes[node].cmd.Wait() // it was killed
	p.gone(node)
}

// stop shuts nodes down in good order, all at once.
func (p *processes) stop(nodes ...string) {
	p.t.Helper()
	for _, name := range nodes {
		p.nodes[name].stdin.Close()
	}
	for _, name := range nodes {
		if err := p.nodes[name].cmd.Wait(); err != nil {
			p.t.Errorf("%s: %v", name, err)
		}
		p.gone(name)
	}
}

func (p *processes) gone(node string) {
	p.nodes[node].ended = time.Now()
	p.running = slices.DeleteFunc(slices.Clone(p.running), func(name string) bool { return name == node })
}

// begin waits for the next run to begin and returns the name of its node.
func (p *processes) begin() string {
	p.t.Helper()
	return p.beginAfter(time.Time{})
}

// beginAfter is begin for one that begins after a time. On a busy machine this process hears late of those before.
func (p *processes) beginAfter(from time.Time) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		said, err := p.witness.BLPop(ctx, 10*time.Second, "begins").Result()
		if err == nil {
			if b := p.noteBegin(said[1]); b.at.After(from) {
				return b.node
			}
		}
		if ctx.Err() != nil {
			p.t.Fatalf("no run begins: %v", err)
		}
	}
}

// recorded returns the ticks of the records that the witness was told of, as often as it was.
func (p *processes) recorded() (ticks []string) {
	p.t.Helper()
	for _, line := range p.list("records") {
		_, tick, _ := strings.Cut(line, " ")
		ticks = append(ticks, tick)
	}
	return ticks
}

// list returns a list of the witness.
func (p *processes) list(name string) []string {
	p.t.Helper()
	said, err := p.witness.LRange(context.Background(), name, 0, -1).Result()
	if err != nil {
		p.t.Fatal(err)
	}
	return said
}

// reach waits until a tick after a time has a record.
func (p *processes) reach(after time.Time) {
	p.t.Helper()
	testsync.Eventually(p.t, "ticks are claimed", func() bool {
		return slices.ContainsFunc(p.recorded(), func(tick string) bool {
			at, err := time.Parse(time.RFC3339, tick)
			return err == nil && at.After(after)
		})
	})
}

// awaitSuccession waits until no run is in flight that a node has begun or passed on.
func (p *processes) awaitSuccession(node string) {
	p.t.Helper()
	testsync.Eventually(p.t, "the runs of "+node+" are taken over", func() bool {
		flights, err := p.store.InFlight(context.Background())
		return err == nil && !slices.ContainsFunc(flights, func(f InFlight) bool { return f.Run.Node == node })
	})
}

// records holds the begins that the witness heard of against the records that are left, which it returns: no tick has
// begun twice without an excuse, and what is recorded as ok has begun.
func (p *processes) records() []Run {
	p.t.Helper()
	for _, said := range p.list("begins") {
		p.noteBegin(said)
	}
	p.judge()
	records, err := p.store.Runs(context.Background(), []string{"j"}, 10_000)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, r := range records[0] {
		if r.Outcome == OutcomeOK && len(p.begins[r.Tick.Format(time.RFC3339)]) == 0 {
			p.t.Errorf("record %+v says ok, and its tick has not begun", r)
		}
	}
	return records[0]
}
