package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Processes lets the suite start and kill other processes that use the store. They open it by the URL that url returns.
// url is called for each test, after the store was opened. The processes run the test binary itself, so its TestMain
// must begin with [BeProcess].
func Processes(url func(t *testing.T) string) Option { return func(o *options) { o.url = url } }

// What a process is told by its environment.
const (
	urlEnv       = "STORETEST_URL" // it is one of ours
	namespaceEnv = "STORETEST_NAMESPACE"
	modeEnv      = "STORETEST_MODE"
	ttlEnv       = "STORETEST_TTL"
)

// BeProcess does the work of a process that [Processes] started, and does not return there. In other processes it does
// nothing.
func BeProcess() {
	url := os.Getenv(urlEnv)
	if url == "" {
		return
	}
	if err := beProcess(context.Background(), url); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// beProcess holds the lock "held", in the mode "read" for reading and in "permit" by one of two permits, waits for the
// lock "waited" or goes on acquiring "k", until it is killed.
func beProcess(ctx context.Context, url string) error {
	ttl, err := time.ParseDuration(os.Getenv(ttlEnv))
	if err != nil {
		return err
	}
	locks, err := lockrt.Open(ctx, url, lockrt.Config{
		Namespace: os.Getenv(namespaceEnv), Node: "child", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	acquire := func(key string, o lockrt.Options) (*lockrt.Lease, error) {
		o.TTL, o.Wait = ttl, lockrt.Forever
		lease, err := locks.Acquire(ctx, key, o)
		if err == nil {
			fmt.Println("fence", uint64(lease.Fence()))
		}
		return lease, err
	}
	var o lockrt.Options
	switch os.Getenv(modeEnv) {
	case "read":
		o.Mode = lockrt.Read
	case "permit":
		o.Permits = deathPermits
	case "cycle":
		for {
			lease, err := acquire("k", lockrt.Options{})
			if err != nil {
				return err
			}
			if err := lease.Release(ctx); err != nil {
				return err
			}
		}
	}
	if _, err := acquire("held", o); err != nil {
		return err
	}
	_, err = acquire("waited", lockrt.Options{}) // it is granted to the dead at most
	return err
}

// deathPermits is how many may hold what the mode "permit" holds.
const deathPermits = 2

// child is another process that uses the store.
type child struct {
	e     *env
	cmd   *exec.Cmd
	lines chan string
	died  time.Time
}

func (e *env) child(mode string) *child {
	e.t.Helper()
	if e.options.url == nil {
		e.t.Skip("this store lives in one process, or the suite was not told how others open it: see storetest.Processes")
	}
	c := &child{e: e, lines: make(chan string, 1<<16)}
	// With no BeProcess in TestMain this runs nothing.
	c.cmd = exec.Command(os.Args[0], "-test.run=^$")
	c.cmd.Env = append(os.Environ(), urlEnv+"="+e.options.url(e.t), namespaceEnv+"="+e.namespace, modeEnv+"="+mode,
		ttlEnv+"="+e.deathTTL().String())
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		e.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	go c.read(out)
	e.t.Cleanup(c.die)
	return c
}

func (c *child) read(out io.Reader) {
	defer close(c.lines)
	for in := bufio.NewScanner(out); in.Scan(); {
		select {
		case c.lines <- in.Text():
		default: // it is far ahead of the test
		}
	}
}

// fence waits for the child's next lease.
func (c *child) fence() lockrt.Fence {
	c.e.t.Helper()
	select {
	case line := <-c.lines:
		var fence lockrt.Fence
		if _, err := fmt.Sscanf(line, "fence %d", (*uint64)(&fence)); err != nil {
			c.e.t.Fatalf("another process says %q instead of its fence; does TestMain begin with storetest.BeProcess?", line)
		}
		return fence
	case <-time.After(testsync.Patience):
		c.e.t.Fatal("another process does not get the lock")
		return 0
	}
}

// lastFence is the last that the child spoke of before it died.
func (c *child) lastFence() (last lockrt.Fence) {
	for line := range c.lines {
		// What it was saying when it died may be cut short.
		var fence lockrt.Fence
		if n, _ := fmt.Sscanf(strings.TrimSpace(line), "fence %d", (*uint64)(&fence)); n == 1 {
			last = max(last, fence)
		}
	}
	return last
}

// die kills the child, and returns when it is gone.
func (c *child) die() {
	if !c.died.IsZero() {
		return
	}
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.e.t.Errorf("kill a process: %v", err)
	}
	_ = c.cmd.Wait()
	c.died = time.Now()
}
