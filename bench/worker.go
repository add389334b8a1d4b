package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Some scenarios need other processes. Each is this program once more, told by an environment variable what to be. They
// talk in lines: the worker gets its orders, answers "ready", gets "go" and later "stop", and answers with what it
// found. A worker whose parent has gone sees the end of its input and ends too.

// workerEnv holds the name of the worker to be.
const workerEnv = "LOCKGEN_BENCH_WORKER"

// workers by name: each gets its orders, calls ready, then works between go and stop, and returns what it found.
var workers = map[string]func(ctx context.Context, orders []byte, at *signals) (any, error){
	waitersWorker: runWaiters,
	holderWorker:  runHolder,
	jobsWorker:    runJobs,
}

// signals are the parent's side of a worker, as the worker sees it.
type signals struct {
	in  *bufio.Scanner
	out io.Writer
}

// expect reads one line.
func (s *signals) expect(word string) error {
	if !s.in.Scan() {
		return errors.Join(fmt.Errorf("the parent ended before %q", word), s.in.Err())
	}
	if got := s.in.Text(); got != word {
		return fmt.Errorf("the parent said %q instead of %q", got, word)
	}
	return nil
}

// ready tells the parent that everything is set up and returns when it says go.
func (s *signals) ready() error {
	if _, err := fmt.Fprintln(s.out, "ready"); err != nil {
		return err
	}
	return s.expect("go")
}

// workerMain runs in the worker's process and returns its exit code.
func workerMain(name string) int {
	run, ok := workers[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "bench: %s=%q names no worker\n", workerEnv, name)
		return 2
	}
	s := &signals{in: bufio.NewScanner(os.Stdin), out: os.Stdout}
	if !s.in.Scan() {
		fmt.Fprintln(os.Stderr, "bench: the worker got no orders")
		return 2
	}
	found, err := run(context.Background(), []byte(s.in.Text()), s)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(found)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %s worker: %v\n", name, err)
		return 1
	}
	return 0
}

// worker is the parent's handle of one.
type worker struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	end context.CancelFunc
}

// startWorker starts a worker and gives it its orders. The caller calls close, which ends it however far it is.
func startWorker(ctx context.Context, name string, orders any) (*worker, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, to start it again: %w", err)
	}
	text, err := json.Marshal(orders)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &worker{cmd: exec.CommandContext(ctx, program), end: cancel}
	w.cmd.Env = append(os.Environ(), workerEnv+"="+name)
	w.cmd.Stderr = os.Stderr
	in, err1 := w.cmd.StdinPipe()
	out, err2 := w.cmd.StdoutPipe()
	if err := errors.Join(err1, err2, w.cmd.Start()); err != nil {
		cancel()
		return nil, fmt.Errorf("start a %s worker: %w", name, err)
	}
	w.in, w.out = in, bufio.NewReader(out)
	if err := w.say(string(text)); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *worker) say(line string) error {
	_, err := io.WriteString(w.in, line+"\n")
	return err
}

// awaitReady returns when the worker has set itself up.
func (w *worker) awaitReady() error {
	line, err := w.out.ReadString('\n')
	if err != nil {
		return fmt.Errorf("a worker ended before it was ready: %w", err)
	}
	if strings.TrimSpace(line) != "ready" {
		return fmt.Errorf("a worker said %q instead of ready", line)
	}
	return nil
}

// result reads what the worker found.
func (w *worker) result(into any) error {
	line, err := w.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("a worker ended without a result: %w", err)
	}
	return json.Unmarshal(line, into)
}

// close ends the worker and waits until it is gone.
func (w *worker) close() {
	w.in.Close()
	w.end()
	w.cmd.Wait() // its result has been read, or nobody wants it any more
}

// untilStop returns a context that ends when the parent says stop; with errWindowOver as its cause then. Its error is
// there after the context has ended.
func (s *signals) untilStop(ctx context.Context) (window context.Context, parentGone func() error) {
	window, cancel := context.WithCancelCause(ctx)
	said := make(chan error, 1)
	go func() {
		err := s.expect("stop")
		said <- err
		if err == nil {
			err = errWindowOver
		}
		cancel(err)
	}()
	return window, func() error { return <-said }
}

// sleep returns ctx's error if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
