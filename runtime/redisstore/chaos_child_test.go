//go:build linux

package redisstore_test

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

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

const (
	chaosMode = "chaos"
	planEnv   = "REDISSTORE_TEST_PLAN"
)

func init() { childModes[chaosMode] = beChaosChild }

// chaosPlan is what a process of the chaos is told.
type chaosPlan struct {
	Node    string
	Addr    string
	Seed    uint64
	Keys    []string
	Workers int
}

// chaosConfig is that of all processes: they are taken for dead soon.
var chaosConfig = redisstore.Config{Liveness: time.Second}

const (
	chaosMinTTL = 200 * time.Millisecond
	chaosMaxTTL = 3 * time.Second
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

// chaosChild is a process of the application. It tells the witness on its standard output what its workers believe.
type chaosChild struct {
	plan     chaosPlan
	locks    []*lockrt.Locker
	ctx      context.Context
	draining atomic.Bool
	visits   atomic.Int64

	out sync.Mutex // guards standard output: a line comes whole or not at all
}

func beChaosChild() {
	c := &chaosChild{ctx: context.Background()}
	if err := json.Unmarshal([]byte(os.Getenv(planEnv)), &c.plan); err != nil {
		panic(err)
	}
	redis.SetLogger(&goRedisLog{}) // what the client says about its connections is no news here
	client := redis.NewClient(&redis.Options{Addr: c.plan.Addr, ContextTimeoutEnabled: true})
	for i, handoffs := range []int{0, -1} {
		locks, err := lockrt.New(redisstore.New(client, chaosConfig), lockrt.Config{
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
	c.end(client)
}

// end shows that everybody is served, and that nothing is left.
func (c *chaosChild) end(client *redis.Client) {
	for _, locks := range c.locks {
		for _, key := range c.plan.Keys {
			ctx, cancel := context.WithTimeout(c.ctx, chaosPatience)
			lease, err := locks.Acquire(ctx, key, lockrt.Options{TTL: chaosMaxTTL, Wait: lockrt.Forever})
			if err != nil {
				c.say("bad at the end, with all faults gone: %v", err)
			}
			c.observe(lease, key, 0)
			if err := lease.Release(ctx); err != nil && !errors.Is(err, lockrt.ErrLost) {
				c.say("bad release at the end: %v", err)
			}
			cancel()
		}
	}
	for _, locks := range c.locks {
		ctx, cancel := context.WithTimeout(c.ctx, chaosPatience)
		if err := locks.Close(ctx); err != nil {
			c.say("bad close: %v", err)
		}
		cancel()
	}
	if err := client.Close(); err != nil {
		c.say("bad close of the client: %v", err)
	}
	// Reading standard input cannot be called off.
	if err := goleak.Find(goleak.IgnoreAnyFunction("bufio.(*Scanner).Scan")); err != nil {
		c.say("bad leak: %q", err.Error())
	}
	c.say("done %d", c.visits.Load())
}

func (c *chaosChild) say(format string, args ...any) {
	c.out.Lock()
	defer c.out.Unlock()
	fmt.Printf(format+"\n", args...)
}
