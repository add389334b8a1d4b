//go:build linux

package redisstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	chaosProcesses = 4
	chaosWorkers   = 4
	// chaosPatience is how long the last acquisitions, and the end of a process, may take when all faults are gone.
	chaosPatience = time.Minute
)

// Several processes use a few locks in all ways. They are killed, stopped, cut off and silenced, their answers and
// pushes are lost, their locks are broken. A witness outside hears what each of them believes: no two contexts of one
// key are alive at the same time, fences grow in the order of acquisition, who waits is served in the end, and nothing
// is left behind. LOCKGEN_SEED repeats the plan of a run, though not what the machine makes of it; LOCKGEN_SOAK makes
// it long.
func TestChaos_processes(t *testing.T) {
	t.Parallel()
	lasts := 10 * time.Second
	if os.Getenv("LOCKGEN_SOAK") != "" {
		lasts = 4 * time.Minute
	}
	c := newChaos(t, chaosSeed(t))
	for i := range c.processes {
		c.start(i)
	}
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		c.act()
		time.Sleep(upTo(c.rand, 200*time.Millisecond))
	}
	c.calm()
	c.drain()
	c.wantNothingLeft()
	bad, leases := c.witness.verdict()
	for _, problem := range bad {
		t.Error(problem)
	}
	t.Logf("%d leases were seen, under %v", leases, c.acts)
	if leases < 20 {
		t.Error("so few leases prove nothing")
	}
}

func chaosSeed(t *testing.T) uint64 {
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

// chaos is the test's own process, which does all the harm.
type chaos struct {
	t         *testing.T
	ctx       context.Context
	rand      *rand.Rand
	server    *testenv.RedisServer
	admin     *redis.Client
	locks     *lockrt.Locker // to break locks with
	witness   *witness
	keys      []string
	processes [chaosProcesses]*chaosProcess
	started   int
	undoing   sync.WaitGroup // harm that ends by itself
	acts      map[string]int
}

func newChaos(t *testing.T, seed uint64) *chaos {
	server := testenv.Redis(t)
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	t.Cleanup(cancel)
	return &chaos{
		t: t, ctx: ctx, rand: rand.New(rand.NewPCG(seed, 0)), server: server, admin: newClient(t, server),
		locks: newLocker(t, newClient(t, server), chaosConfig), witness: newWitness(),
		keys: []string{"a", "b", "c"}, acts: make(map[string]int),
	}
}

// chaosProcess is one process and its line to the server.
type chaosProcess struct {
	node  string
	proxy *proxy
	cmd   *exec.Cmd
	stdin io.WriteCloser
	heard chan bool // what the witness says of its end
}

func (c *chaos) start(i int) {
	c.t.Helper()
	c.started++
	p := &chaosProcess{
		node: fmt.Sprint("process ", c.started), proxy: newProxy(c.t, c.server.Addr()), heard: make(chan bool, 1),
		cmd: exec.Command(os.Args[0]),
	}
	plan, err := json.Marshal(chaosPlan{
		Node: p.node, Addr: p.proxy.addr, Seed: c.rand.Uint64(), Keys: c.keys, Workers: chaosWorkers,
	})
	must(c.t, err)
	p.cmd.Env = append(os.Environ(), childEnv+"="+chaosMode, planEnv+"="+string(plan))
	p.cmd.Stderr = os.Stderr
	p.stdin, err = p.cmd.StdinPipe()
	must(c.t, err)
	out, err := p.cmd.StdoutPipe()
	must(c.t, err)
	must(c.t, p.cmd.Start())
	go func() {
		done := c.witness.listen(p.node, out)
		_ = p.cmd.Wait()
		p.heard <- done
	}()
	c.t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	c.processes[i] = p
}

// drain lets all processes come to their end.
func (c *chaos) drain() {
	for _, p := range c.processes {
		_ = p.stdin.Close()
	}
	over := time.After(2 * chaosPatience)
	for _, p := range c.processes {
		select {
		case done := <-p.heard:
			if !done {
				c.t.Errorf("%s did not come to its end: %v", p.node, p.cmd.ProcessState)
			}
		case <-over:
			// Its stacks tell where.
			_ = p.cmd.Process.Signal(syscall.SIGQUIT)
			c.t.Errorf("%s does not end; is a waiter not served?", p.node)
			<-p.heard
		}
	}
}

// wantNothingLeft waits until no lock is held and nobody stands in a queue.
func (c *chaos) wantNothingLeft() {
	testsync.Eventually(c.t, "all locks are free and all queues empty", func() bool {
		infos, err := c.locks.List(c.ctx, "")
		must(c.t, err)
		queues := c.admin.Keys(c.ctx, "*:queue").Val()
		return len(infos) == 0 && len(queues) == 0
	})
	keys, err := immortal.Run(c.ctx, c.admin, nil).StringSlice()
	if err != nil || len(keys) > 0 {
		c.t.Errorf("keys without an expiry: %q, %v", keys, err)
	}
}
