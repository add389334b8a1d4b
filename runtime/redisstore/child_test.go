package redisstore_test

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

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// The test binary becomes another process of the application when childEnv is set: "hold" acquires the lock, "wait"
// too, from a session that is quickly taken for dead. Then it answers each line on its standard input with what it
// would write to the resource, and whether it still believes in its lease; "release" ends it.
const (
	childEnv     = "REDISSTORE_TEST_CHILD"
	childAddrEnv = "REDISSTORE_TEST_ADDR"
	childTTL     = 700 * time.Millisecond
)

var childConfig = redisstore.Config{Liveness: 400 * time.Millisecond}

func beChild(mode string) {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: os.Getenv(childAddrEnv), ContextTimeoutEnabled: true})
	defer client.Close()
	locks, err := lockrt.New(redisstore.New(client, childConfig), lockrt.Config{Node: "child", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	defer locks.Close(ctx)
	o := lockrt.Options{TTL: childTTL}
	if mode == "wait" {
		o.Wait = lockrt.Forever
	}
	lease, err := locks.Acquire(ctx, "k", o)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println("held", uint64(lease.Fence()))
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if in.Text() == "release" {
			err := lease.Release(ctx)
			fmt.Println("released", uint64(lease.Fence()), errors.Is(err, lockrt.ErrLost))
			continue
		}
		fmt.Println("write", uint64(lease.Fence()), errors.Is(lease.Err(), lockrt.ErrLost))
	}
}

// child is another process that uses the same lock.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan string
}

func startChild(t *testing.T, mode, addr string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0]), lines: make(chan string, 100)}
	c.cmd.Env = append(os.Environ(), childEnv+"="+mode, childAddrEnv+"="+addr)
	c.cmd.Stderr = os.Stderr
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for out := bufio.NewScanner(stdout); out.Scan(); {
			c.lines <- out.Text()
		}
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // SIGKILL ends a stopped process too
		<-read
		_ = c.cmd.Wait()
	})
	return c
}

// says waits for the child's next line and reads a fence and, after some words, a flag from it.
func (c *child) says(word string) (fence lockrt.Fence, lost bool) {
	c.t.Helper()
	select {
	case line := <-c.lines:
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != word {
			c.t.Fatalf("the child says %q, want %s", line, word)
		}
		if _, err := fmt.Sscan(fields[1], (*uint64)(&fence)); err != nil {
			c.t.Fatalf("the child says %q: %v", line, err)
		}
		return fence, fields[len(fields)-1] == "true"
	case <-time.After(30 * time.Second):
		c.t.Fatalf("the child does not say %s", word)
	}
	return 0, false
}

func (c *child) ask(line string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.stdin, line); err != nil {
		c.t.Fatalf("ask the child: %v", err)
	}
}
