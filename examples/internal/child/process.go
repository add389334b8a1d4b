package child

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
)

// Config says what to start.
type Config struct {
	Role   string // the first argument of the process, see [Main]
	Name   string // the second, for those who list processes, and for errors
	Setup  any
	Stderr io.Writer
	Hear   func(note json.RawMessage) // called for each note, one after the other; nil: the child makes none
	Ended  func(*Process)             // called when the process has ended, before Gone says so; may be nil
}

// Process is a child, as its parent sees it.
type Process struct {
	cfg    Config
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	ready  chan json.RawMessage // one element
	gone   chan struct{}        // closed when the process has ended and all it said was read
	killed atomic.Bool          // by us

	said, exit error // set before gone is closed, and read after it
}

// Start runs this program again.
func Start(cfg Config) (*Process, error) {
	p := &Process{cfg: cfg, ready: make(chan json.RawMessage, 1), gone: make(chan struct{})}
	if err := p.start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cfg.Name, err)
	}
	return p, nil
}

func (p *Process) start() error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	p.cmd = exec.Command(program, p.cfg.Role, p.cfg.Name)
	p.cmd.Stderr = serialized(p.cfg.Stderr)
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go p.follow(stdout)
	// A child that ended already says why on its output; that beats this error.
	_ = json.NewEncoder(p.stdin).Encode(p.cfg.Setup)
	return nil
}

// serialized lets the children of a program share a writer. They share a file as processes do.
func serialized(w io.Writer) io.Writer {
	if _, file := w.(*os.File); file || w == nil {
		return w
	}
	return inTurn{w}
}

// inTurn is a writer that several children write to.
type inTurn struct{ io.Writer }

var turns sync.Mutex

func (t inTurn) Write(text []byte) (int, error) {
	turns.Lock()
	defer turns.Unlock()
	return t.Writer.Write(text)
}

// follow ends with the process.
func (p *Process) follow(stdout io.Reader) {
	defer close(p.gone)
	p.read(json.NewDecoder(stdout))
	_, _ = io.Copy(io.Discard, stdout) // a process that cannot write does not end
	p.exit = p.cmd.Wait()
	if p.cfg.Ended != nil {
		p.cfg.Ended(p)
	}
}

func (p *Process) read(messages *json.Decoder) {
	for {
		var m message[json.RawMessage]
		switch err := messages.Decode(&m); {
		case err != nil:
			return // the end, or half a message of a process that was killed
		case m.Err != "":
			p.said = errors.New(m.Err)
		case m.Ready != nil:
			p.ready <- m.Ready
		case p.cfg.Hear != nil:
			p.cfg.Hear(m.Note)
		}
	}
}

// AwaitReady blocks until the child has said that it is ready, and stores what it said about it.
func (p *Process) AwaitReady(ctx context.Context, about any) error {
	var err error
	select {
	case text := <-p.ready:
		return json.Unmarshal(text, about)
	case <-p.gone:
		err = p.Reason()
	case <-ctx.Done():
		err = ctx.Err()
	}
	return fmt.Errorf("%s did not start: %w", p.cfg.Name, err)
}

// Stop asks the child to finish. Its process may have ended by itself.
func (p *Process) Stop() { _, _ = io.WriteString(p.stdin, stopWord+"\n") }

// AwaitEnd blocks until the process has ended, and kills it if ctx ends first.
func (p *Process) AwaitEnd(ctx context.Context) error {
	select {
	case <-p.gone:
		return nil
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("%s did not stop and was killed: %w", p.cfg.Name, ctx.Err())
	}
}

// Kill ends the process with SIGKILL and returns when it is gone.
func (p *Process) Kill() {
	p.killed.Store(true)
	_ = p.cmd.Process.Kill() // fails if it has ended by itself
	<-p.gone
}

// Name is that of Config.
func (p *Process) Name() string { return p.cfg.Name }

// ID is the number of the process.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Killed reports whether Kill was called.
func (p *Process) Killed() bool { return p.killed.Load() }

// Alive reports whether the process has not ended yet.
func (p *Process) Alive() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// Err is the exit of a process that has ended: nil if it ended well.
func (p *Process) Err() error { return p.exit }

// Reason is why a process has ended, in its own words if it had any.
func (p *Process) Reason() error {
	return cmp.Or(p.said, p.exit, errors.New("it ended without a word"))
}
