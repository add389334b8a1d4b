package testlocks

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// node uses locks, over a line of its own to each server. It is a process, or as good as one.
type node struct {
	name  string
	lines []*testenv.Proxy
	end   func() error // after the harm
	proc  *exec.Cmd    // nil: it is in the test's own process
	kill  func()       // of a process
}

func newNode(t testing.TB, name string, servers []Server) *node {
	n := &node{name: name}
	for _, s := range servers {
		n.lines = append(n.lines, testenv.NewProxy(t, s.Addr()))
	}
	return n
}

func (n *node) addrs() (all []string) {
	for _, line := range n.lines {
		all = append(all, line.Addr())
	}
	return all
}

func (n *node) each(do func(*testenv.Proxy)) {
	for _, line := range n.lines {
		do(line)
	}
}

// during does harm to all lines of the node for a time.
func (n *node) during(d time.Duration, begin, end func(*testenv.Proxy)) {
	n.each(begin)
	time.Sleep(d)
	n.each(end)
}

// plan is what a process is told.
type plan struct {
	Namespace, Node string

	Addrs []string
	Seed  uint64
	Keys  []string
	Mixed string
	Line  bool // hands on locally
}

const planEnv = "TESTLOCKS_PLAN"

// Opener returns a Locker on the servers at addrs, with the rest of its Config.
type Opener func(addrs []string, cfg lockrt.Config) (*lockrt.Locker, error)

func (p plan) open(open Opener) (*user, error) {
	cfg := lockrt.Config{Namespace: p.Namespace, Node: p.Node, Logger: slog.New(slog.DiscardHandler)}
	if !p.Line {
		cfg.LocalHandoffs = -1
	}
	locks, err := open(p.Addrs, cfg)
	if err != nil {
		return nil, err
	}
	return &user{node: p.Node, locks: locks, keys: p.Keys, mixed: p.Mixed}, nil
}

// BeProcess does the work of a process of a chaos, and does not return there. In other processes it does nothing.
// TestMain begins with it.
func BeProcess(open Opener) {
	text := os.Getenv(planEnv)
	if text == "" {
		return
	}
	if err := beProcess(text, open); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println(doneWord)
	os.Exit(0)
}

// beProcess uses locks until its standard input ends.
func beProcess(text string, open Opener) error {
	var p plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	u, err := p.open(open)
	for end := time.Now().Add(openPatience); err != nil && time.Now().Before(end); u, err = p.open(open) {
		time.Sleep(100 * time.Millisecond) // the harm that is done just now keeps it from its servers
	}
	if err != nil {
		return err
	}
	var out sync.Mutex // a line comes whole
	u.hear = func(b Belief) {
		out.Lock()
		defer out.Unlock()
		fmt.Println(b.line())
	}
	stop := make(chan struct{})
	go func() {
		_ = bufio.NewScanner(os.Stdin).Scan()
		close(stop)
	}()
	u.work(p.Seed, stop)
	return u.end()
}

// startProcess starts a node as a process.
func (n *node) startProcess(t testing.TB, p plan, w *Witness) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	n.proc = exec.Command(os.Args[0], "-test.run=^$")
	n.proc.Env = append(os.Environ(), planEnv+"="+string(text))
	n.proc.Stderr = os.Stderr
	in, inErr := n.proc.StdinPipe()
	out, outErr := n.proc.StdoutPipe()
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	if err := n.proc.Start(); err != nil {
		t.Fatal(err)
	}
	heard := make(chan bool, 1)
	go func() { heard <- w.listen(n.name, out) }()
	gone := sync.OnceValue(func() bool {
		done := <-heard
		_ = n.proc.Wait()
		return done
	})
	n.kill = func() {
		_ = n.proc.Process.Kill()
		gone()
	}
	n.end = func() error {
		_ = in.Close()
		late := time.AfterFunc(endPatience, func() { _ = n.proc.Process.Kill() })
		defer late.Stop()
		if !gone() {
			return fmt.Errorf("%s did not come to its end by itself", n.name)
		}
		return nil
	}
	t.Cleanup(n.kill)
}

const (
	// openPatience is how long a process tries to open its Locker while servers are killed and cut off.
	openPatience = time.Minute
	// endPatience is how long a process may take to end when all servers are up again.
	endPatience = 4 * time.Minute
)

// startHere starts a node in the test's own process.
func (n *node) startHere(seed uint64, u *user, w *Witness) {
	u.hear = w.Hear
	stop := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() { u.work(seed, stop) })
	n.end = func() error {
		close(stop)
		working.Wait()
		return u.end()
	}
}
