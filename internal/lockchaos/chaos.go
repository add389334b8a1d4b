//go:build linux

package lockchaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// patience is how long the last acquisitions, and the end of a process, may take when all faults are gone.
const patience = time.Minute

// Config describes a run.
type Config struct {
	Engine    string                         // passed on to the processes
	Line      func() Line                    // a new process's way to the store
	Processes int                            // defaults to 4
	Workers   int                            // of each; defaults to 4
	Kinds     bool                           // readers, writers, permits and downgrades, too
	Lasts     time.Duration                  // defaults to 10 s; 4 min with LOCKGEN_SOAK
	Harms     []Harm                         // beside kill, stop, break and force
	Breaker   *lockrt.Locker                 // breaks locks; it lists what is held in the end
	Unsteady  bool                           // the Breaker's server may be away
	Left      func(context.Context) []string // what must not be left in the store; nil: nothing is looked for
	AtLeast   map[string]int                 // leases of each kind that the witness must have seen to believe the run
}

// Line is how one process reaches the store.
type Line interface {
	URL() string
	// Calm ends all harm that was done to it.
	Calm()
	// Close ends it. The process is gone.
	Close()
}

// Chaos is the test's own process, which does all the harm.
type Chaos struct {
	T    *testing.T
	Ctx  context.Context
	Rand *rand.Rand
	Keys []string

	cfg       Config
	witness   *witness
	processes []*Process
	started   int
	undoing   sync.WaitGroup // harm that ends by itself
	harms     []Harm
	acts      map[string]int
}

// Process is one process and its line to the store.
type Process struct {
	Line Line

	place int
	node  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	heard chan bool // what the witness says of its end
}

// Run does harm for a while, lets everything come to its end, and fails the test for all that must not be.
func Run(t *testing.T, cfg Config) {
	t.Helper()
	setDefault(&cfg.Processes, 4)
	setDefault(&cfg.Workers, 4)
	setDefault(&cfg.Lasts, 10*time.Second)
	if os.Getenv("LOCKGEN_SOAK") != "" {
		cfg.Lasts = 4 * time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	c := &Chaos{
		T: t, Ctx: ctx, Rand: rand.New(rand.NewPCG(seed(t), 0)), Keys: []string{"a", "b", "c"}, cfg: cfg,
		witness: newWitness(), processes: make([]*Process, cfg.Processes), harms: slices.Concat(harms, cfg.Harms),
		acts: make(map[string]int),
	}
	for i := range c.processes {
		c.start(i)
	}
	for end := time.Now().Add(cfg.Lasts); time.Now().Before(end); {
		c.act()
		time.Sleep(UpTo(c.Rand, 200*time.Millisecond))
	}
	c.calm()
	testsync.Eventually(t, fmt.Sprintf("so many leases were seen: %v", cfg.AtLeast), c.sawEnough)
	c.drain()
	c.wantNothingLeft()
	bad, leases := c.witness.verdict()
	for _, problem := range bad {
		t.Error(problem)
	}
	t.Logf("%v were seen, under %v", leases, c.acts)
}

func setDefault[T comparable](v *T, def T) {
	if *v == *new(T) {
		*v = def
	}
}

func seed(t *testing.T) uint64 {
	seed := rand.Uint64()
	if text := os.Getenv("LOCKGEN_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("LOCKGEN_SEED: %v", err)
		}
	}
	t.Logf("LOCKGEN_SEED=%d repeats this plan", seed)
	return seed
}

// start starts a process at one of the places.
func (c *Chaos) start(place int) {
	c.T.Helper()
	c.started++
	p := &Process{
		place: place, node: fmt.Sprint("process ", c.started), Line: c.cfg.Line(), heard: make(chan bool, 1),
		cmd: exec.Command(os.Args[0], "-test.run=^$"), // with no BeProcess in TestMain this runs nothing
	}
	plan, err := json.Marshal(Plan{
		Engine: c.cfg.Engine, URL: p.Line.URL(), Node: p.node, Seed: c.Rand.Uint64(), Keys: c.Keys, Workers: c.cfg.Workers,
		Kinds: c.cfg.Kinds,
	})
	c.must(err)
	p.cmd.Env = append(os.Environ(), planEnv+"="+string(plan))
	p.cmd.Stderr = os.Stderr
	p.stdin, err = p.cmd.StdinPipe()
	c.must(err)
	out, err := p.cmd.StdoutPipe()
	c.must(err)
	c.must(p.cmd.Start())
	go func() {
		done := c.witness.listen(p.node, out)
		_ = p.cmd.Wait()
		p.heard <- done
	}()
	c.T.Cleanup(func() { _ = p.cmd.Process.Kill() })
	c.processes[place] = p
}

func (c *Chaos) must(err error) {
	c.T.Helper()
	if err != nil {
		c.T.Fatal(err)
	}
}

// drain lets all processes come to their end.
func (c *Chaos) drain() {
	for _, p := range c.processes {
		_ = p.stdin.Close()
	}
	over := time.After(2 * patience)
	for _, p := range c.processes {
		select {
		case done := <-p.heard:
			if !done {
				c.T.Errorf("%s did not come to its end: %v", p.node, p.cmd.ProcessState)
			}
		case <-over:
			// Its stacks tell where.
			_ = p.cmd.Process.Signal(syscall.SIGQUIT)
			c.T.Errorf("%s does not end; is a waiter not served?", p.node)
			<-p.heard
		}
	}
}

// wantNothingLeft waits until no lock is held and the store has nothing that must not be left.
func (c *Chaos) wantNothingLeft() {
	var held []lockrt.LockInfo
	var left []string
	defer func() {
		if c.T.Failed() {
			c.T.Logf("held: %v, left: %q", held, left)
		}
	}()
	testsync.Eventually(c.T, "all locks are free and nothing is left", func() bool {
		var err error
		held, err = c.cfg.Breaker.List(c.Ctx, "")
		if err == nil && c.cfg.Left != nil {
			left = c.cfg.Left(c.Ctx)
		}
		return err == nil && len(held) == 0 && len(left) == 0
	})
}

// sawEnough is whether the witness saw so many leases that the run proves something.
func (c *Chaos) sawEnough() bool {
	_, leases := c.witness.verdict()
	for kind, least := range c.cfg.AtLeast {
		if leases[kind] < least {
			return false
		}
	}
	return true
}
