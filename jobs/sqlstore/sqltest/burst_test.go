package sqltest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
	lockrt "github.com/lockgen/lockgen/runtime"
	locksql "github.com/lockgen/lockgen/runtime/sqlstore"
)

const (
	// manyEnv makes a child one of a burst: with so many jobs.
	manyEnv = "LOCKGEN_JOBS_MANY"
	// figuresEnv has the burst be a large one, for its figures.
	figuresEnv = "LOCKGEN_FIGURES"
)

// begins are the runs of one process, and when they began.
type begins struct {
	mu  sync.Mutex
	all []string
}

// beMany runs a node with many jobs, all due at the same time, until its standard input ends. Then it says what began
// when.
func beMany(name, url string, many int, every time.Duration) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	quiet := slog.New(slog.DiscardHandler)
	locks, err := lockrt.Open(ctx, url, lockrt.Config{Node: name, Logger: quiet})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locks.Close(context.Background())) }()
	s, err := jobs.New(locks, jobs.Config{Logger: quiet, History: 10})
	if err != nil {
		return err
	}
	var noted begins
	for i := range many {
		err := s.Add(jobs.Job{Name: fmt.Sprint("job-", i), Spec: "@every " + every.String(), Run: func(ctx context.Context) error {
			began := time.Now()
			_, tick, _ := jobs.TickFromContext(ctx)
			noted.mu.Lock()
			defer noted.mu.Unlock()
			noted.all = append(noted.all, fmt.Sprint(i, " ", tick.UnixMicro(), " ", began.UnixMicro()))
			return nil
		}})
		if err != nil {
			return err
		}
	}
	go func() {
		for ctx.Err() == nil && slices.ContainsFunc(s.Jobs(), func(i jobs.Info) bool { return i.Cursor.IsZero() }) {
			time.Sleep(time.Second)
		}
		fmt.Println("ready")
	}()
	err = s.Run(ctx)
	out := bufio.NewWriter(os.Stdout)
	for _, line := range noted.all {
		fmt.Fprintln(out, line)
	}
	return errors.Join(err, out.Flush())
}

// TestStore_burst has three processes share jobs that are all due at the same time: each tick begins once.
func TestStore_burst(t *testing.T) {
	many, every, ticks := 200, 4*time.Second, 1
	if os.Getenv(figuresEnv) != "" {
		many, every, ticks = 10_000, 20*time.Second, 3
	}
	engines(t, func(t *testing.T, e *engine) {
		if err := locksql.CreateTables(t.Context(), e.db, locksql.Config{}); err != nil {
			t.Fatal(err)
		}
		var nodes []*burstNode
		for i := range 3 {
			nodes = append(nodes, startBurst(t, fmt.Sprint("node-", i), e.url, many, every))
		}
		for _, n := range nodes {
			<-n.ready
		}
		first := time.Now().Truncate(every).Add(2 * every) // at the one before they have only just met
		last := first.Add(time.Duration(ticks-1) * every)
		time.Sleep(time.Until(last.Add(every * 3 / 4)))
		awaitTick(t, sqlstore.New(e.db, sqlstore.Config{}), many, last)
		began := make(map[[2]int64]int64)
		for _, n := range nodes {
			for key, at := range n.stop(t) {
				if _, twice := began[key]; twice {
					t.Errorf("job %d began twice at its tick %d", key[0], key[1])
				}
				began[key] = at
			}
		}
		for tick := first; !tick.After(last); tick = tick.Add(every) {
			var late []time.Duration
			for job := range int64(many) {
				at, ok := began[[2]int64{job, tick.UnixMicro()}]
				if !ok {
					t.Errorf("job %d did not begin at its tick %s", job, tick)
					continue
				}
				late = append(late, time.Duration(at-tick.UnixMicro())*time.Microsecond)
			}
			if slices.Sort(late); len(late) > 0 {
				t.Logf("%s: %d of %d, lateness p50 %s, p99 %s, max %s", tick.Format(time.TimeOnly), len(late), many,
					late[len(late)/2].Round(time.Millisecond), late[len(late)*99/100].Round(time.Millisecond),
					late[len(late)-1].Round(time.Millisecond))
			}
		}
	})
}

// awaitTick waits until all jobs have a record of a tick.
func awaitTick(t *testing.T, s jobs.Store, many int, tick time.Time) {
	t.Helper()
	names := make([]string, many)
	for i := range names {
		names[i] = fmt.Sprint("job-", i)
	}
	testsync.Eventually(t, "all jobs have run", func() bool {
		all, err := s.Runs(context.Background(), names, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, runs := range all {
			if len(runs) == 0 || runs[0].Tick.Before(tick) {
				names = names[i:]
				time.Sleep(100 * time.Millisecond)
				return false
			}
		}
		return true
	})
}

type burstNode struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ready chan struct{}
	lines chan map[[2]int64]int64
}

func startBurst(t *testing.T, name, url string, many int, every time.Duration) *burstNode {
	t.Helper()
	n := &burstNode{cmd: exec.Command(os.Args[0]), ready: make(chan struct{}), lines: make(chan map[[2]int64]int64, 1)}
	n.cmd.Env = append(os.Environ(), childEnv+"="+name, urlEnv+"="+url, manyEnv+"="+strconv.Itoa(many)+" "+every.String())
	n.cmd.Stderr = os.Stderr
	stdin, err := n.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := n.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.cmd.Process.Kill() })
	n.stdin = stdin
	go func() {
		all := make(map[[2]int64]int64)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			var job, tick, at int64
			if lines.Text() == "ready" {
				close(n.ready)
			} else if _, err := fmt.Sscan(lines.Text(), &job, &tick, &at); err == nil {
				all[[2]int64{job, tick}] = at
			}
		}
		n.lines <- all
	}()
	return n
}

// stop ends the process and returns when each job began at each tick.
func (n *burstNode) stop(t *testing.T) map[[2]int64]int64 {
	t.Helper()
	_ = n.stdin.Close()
	all := <-n.lines
	if err := n.cmd.Wait(); err != nil {
		t.Error(err)
	}
	return all
}
