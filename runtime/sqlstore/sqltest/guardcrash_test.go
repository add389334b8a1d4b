//go:build unix

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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// guardingEnv has what a process is to guard: the TTL of its lease, the namespace and the database.
const guardingEnv = "LOCKGEN_GUARDING"

func init() {
	beGuardingProcess = func() {
		if plan := strings.SplitN(os.Getenv(guardingEnv), " ", 3); len(plan) == 3 {
			if err := beGuarding(plan[0], plan[1], plan[2]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
}

// beGuarding guards a transaction, writes the number of its process in it, and says the fence. It commits when it gets a
// line. Its lease is not renewed and not released.
func beGuarding(ttl, namespace, url string) error {
	ctx := context.Background()
	locks, err := lockrt.Open(ctx, url, lockrt.Config{Namespace: namespace, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	o := lockrt.Options{NoRenew: true, Wait: lockrt.Forever}
	if o.TTL, err = time.ParseDuration(ttl); err != nil {
		return err
	}
	for {
		lease, err := locks.Acquire(ctx, "k", o)
		if err != nil {
			return err
		}
		tx, err := locks.Store().(*sqlstore.Store).DB().BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		err = sqlstore.Guard(ctx, tx, lease)
		if errors.Is(err, lockrt.ErrLost) { // it came too late
			_ = tx.Rollback()
			continue
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO data VALUES ($1)", os.Getpid()); err != nil {
			return err
		}
		fmt.Println(lease.Fence())
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		fmt.Println("committed")
		return nil
	}
}

// guardingProcess has a guarded transaction in which it has written.
type guardingProcess struct {
	*exec.Cmd
	in    io.Writer
	out   *bufio.Scanner
	fence lockrt.Fence
}

func (e *engine) guardingProcess(t *testing.T, ttl time.Duration) *guardingProcess {
	t.Helper()
	p := &guardingProcess{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), guardingEnv+"="+ttl.String()+" "+t.Name()+" "+e.url)
	p.Stderr = os.Stderr
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	p.in, p.out = in, bufio.NewScanner(out)
	n, err := strconv.ParseUint(p.says(t), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	p.fence = lockrt.Fence(n)
	return p
}

func (p *guardingProcess) says(t *testing.T) string {
	t.Helper()
	if !p.out.Scan() {
		t.Fatalf("the process ends without a word: %v", p.out.Err())
	}
	return p.out.Text()
}

func (p *guardingProcess) kill() error {
	err := p.Process.Kill()
	_ = p.Wait() // it was killed
	return err
}

// hasRows checks how many rows a process has written.
func (e *engine) hasRows(t *testing.T, pid, want int) {
	t.Helper()
	var n int
	err := e.db.QueryRowContext(t.Context(), "SELECT count(*) FROM data WHERE n = $1", pid).Scan(&n)
	if err != nil || n != want {
		t.Errorf("%d rows are written, %v; want %d", n, err, want)
	}
}

// TestGuard_process has the holder be a process of its own, which is killed or stopped between its write and its commit.
func TestGuard_process(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	e.exec(t, "CREATE TABLE data (n int)")
	for name, test := range map[string]func(*testing.T, *engine){
		"is killed":                guardKilled,
		"is killed past its lease": guardKilledLate,
		"is stopped for longer than its lease lasts": guardStoppedProcess,
	} {
		t.Run(name, func(t *testing.T) { test(t, e) })
	}
}

// What it wrote is gone, and its lock too when its lease has run out.
func guardKilled(t *testing.T, e *engine) {
	p := e.guardingProcess(t, 2*time.Second)
	b := e.locker(t, "b")
	s, _ := e.session(t, "c")
	if info, err := s.(lockrt.Inspector).Inspect(t.Context(), "k"); err == nil && info.Fence != p.fence {
		t.Errorf("the lock is held with fence %d, want the process's %d", info.Fence, p.fence)
	}
	if err := p.kill(); err != nil {
		t.Fatal(err)
	}
	lease, err := b.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: testsync.Patience})
	if err != nil {
		t.Fatal(err)
	}
	if lease.Fence() <= p.fence {
		t.Errorf("the next fence is %d after %d", lease.Fence(), p.fence)
	}
	e.hasRows(t, p.Process.Pid, 0)
}

// Past the lease only the transaction keeps the lock, and it ends with the process.
func guardKilledLate(t *testing.T, e *engine) {
	p := e.guardingProcess(t, 500*time.Millisecond)
	if next := e.nobodyUntilCommit(t, p.kill, func() { e.isOver(t) }); next <= p.fence {
		t.Errorf("the next fence is %d after %d", next, p.fence)
	}
	e.hasRows(t, p.Process.Pid, 0)
}

func guardStoppedProcess(t *testing.T, e *engine) {
	p := e.guardingProcess(t, 500*time.Millisecond)
	if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	next := e.nobodyUntilCommit(t, func() error {
		if err := p.Process.Signal(syscall.SIGCONT); err != nil {
			return err
		}
		_, err := fmt.Fprintln(p.in, "commit")
		if said := p.says(t); said != "committed" {
			t.Errorf("the process says %q", said)
		}
		return err
	}, func() { e.isOver(t) })
	if next <= p.fence {
		t.Errorf("the next fence is %d after %d", next, p.fence)
	}
	e.hasRows(t, p.Process.Pid, 1)
}
