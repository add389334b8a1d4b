//go:build linux

package lockchaos

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"go.uber.org/goleak"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// planEnv is set for our processes.
const planEnv = "LOCKCHAOS_PLAN"

// Plan is what a process is told.
type Plan struct {
	// Engine and URL say which store it uses, and where that is: see Config and Line.
	Engine, URL string

	Node    string
	Seed    uint64
	Keys    []string
	Workers int
	Kinds   bool // readers, writers and permits, not only locks for one
}

// Stores are what a process opens by its plan.
type Stores struct {
	New   func() lockrt.Store // for each of its Lockers
	Close func() error        // when all of them are closed
}

const (
	minTTL = 200 * time.Millisecond
	maxTTL = 3 * time.Second
)

// monotonic is the clock that all processes of the machine share.
func monotonic() int64 {
	const clockMonotonic = 1
	var ts syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		panic(errno)
	}
	return ts.Nano()
}

// process is one of the application. It tells the witness on its standard output what its workers believe.
type process struct {
	plan     Plan
	stores   Stores
	locks    []*lockrt.Locker
	ctx      context.Context
	draining atomic.Bool
	visits   atomic.Int64
	beliefs  atomic.Int64

	out sync.Mutex // guards standard output: a line comes whole or not at all
}

// BeProcess does the work of a process of the chaos, and does not return there. In other processes it does nothing.
func BeProcess(open func(Plan) (Stores, error)) {
	plan := os.Getenv(planEnv)
	if plan == "" {
		return
	}
	p := &process{ctx: context.Background()}
	if err := json.Unmarshal([]byte(plan), &p.plan); err != nil {
		panic(err)
	}
	var err error
	if p.stores, err = open(p.plan); err != nil {
		p.say("bad begin: %v", err)
		os.Exit(1)
	}
	p.run()
	os.Exit(0)
}

func (c *process) run() {
	for i, handoffs := range []int{0, -1} {
		locks, err := lockrt.New(c.stores.New(), lockrt.Config{
			Node: fmt.Sprint(c.plan.Node, ".", i), LocalHandoffs: handoffs, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			panic(err)
		}
		c.locks = append(c.locks, locks)
	}
	go func() {
		_ = bufio.NewScanner(os.Stdin).Scan() // "drain", or the witness is gone
		c.draining.Store(true)
	}()
	var workers sync.WaitGroup
	for i := range c.plan.Workers {
		workers.Go(func() { c.work(rand.New(rand.NewPCG(c.plan.Seed, uint64(i)))) })
	}
	workers.Wait()
	c.end()
}

// visitLast shows that a lock can be had.
func (c *process) visitLast(locks *lockrt.Locker, key string) {
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	asked := monotonic()
	lease, err := c.lastly(ctx, locks, key)
	if err != nil {
		c.say("bad at the end, with all faults gone: %v", err)
		return
	}
	defer func() {
		if err := lease.Release(ctx); err != nil && !errors.Is(err, lockrt.ErrLost) {
			c.say("bad release at the end: %v", err)
		}
	}()
	c.observe(lease, key, lockrt.Options{}, asked, 0)
}

// end shows that everybody is served, and that nothing is left.
func (c *process) end() {
	for _, locks := range c.locks {
		for _, key := range c.plan.Keys {
			c.visitLast(locks, key)
		}
	}
	for _, locks := range c.locks {
		ctx, cancel := context.WithTimeout(c.ctx, patience)
		if err := locks.Close(ctx); err != nil {
			c.say("bad close: %v", err)
		}
		cancel()
	}
	if err := c.stores.Close(); err != nil {
		c.say("bad close of the stores: %v", err)
	}
	// Reading standard input cannot be called off.
	if err := goleak.Find(goleak.IgnoreAnyFunction("bufio.(*Scanner).Scan")); err != nil {
		c.say("bad leak: %q", err.Error())
	}
	c.say("done %d", c.visits.Load())
}

// lastly acquires a lock. What stands between may need a moment to find that the server is back.
func (c *process) lastly(ctx context.Context, locks *lockrt.Locker, key string) (*lockrt.Lease, error) {
	for {
		lease, err := locks.Acquire(ctx, key, lockrt.Options{TTL: maxTTL, Wait: lockrt.Forever})
		if err == nil || ctx.Err() != nil {
			return lease, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (c *process) say(format string, args ...any) {
	c.out.Lock()
	defer c.out.Unlock()
	fmt.Printf(format+"\n", args...)
}
