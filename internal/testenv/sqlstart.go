package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

func (s *sqlServer) command(program string, args []string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = s.dir // ours, and our TMPDIR, may be closed to the account
	// The messages are read here and by people: in English.
	cmd.Env = append(os.Environ(), "TMPDIR="+s.dir, "LC_ALL=C")
	cmd.SysProcAttr = childAttributes()
	s.account.run(cmd)
	return cmd
}

func (s *sqlServer) logFile() string { return filepath.Join(s.dir, "server.log") }

func (s *sqlServer) launch(program string, args []string) (*process, error) {
	logFile, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("testenv: open the log of %s: %w", s.name, err)
	}
	defer logFile.Close() // the child has its own copy
	proc, err := startCommand(s.command(program, args), logFile)
	if err != nil {
		return nil, fmt.Errorf("testenv: start %s: %w", program, err)
	}
	return proc, nil
}

// setUp runs a program that prepares the directory, to its end.
func (s *sqlServer) setUp(ctx context.Context, program string, args ...string) error {
	proc, err := s.launch(program, args)
	if err != nil {
		return err
	}
	select {
	case <-proc.done:
		if proc.cmd.ProcessState.Success() {
			return nil
		}
		err = errors.New(proc.cmd.ProcessState.String())
	case <-ctx.Done():
		proc.kill()
		err = ctx.Err()
	}
	return fmt.Errorf("testenv: set up %s with %s: %w\nit said last:\n%s", s.name, program, err, s.logEnd())
}

// start runs the server until ready reports true for the process started. It
// tries several ports: another process may take a free one before the server.
func (s *sqlServer) start(ctx context.Context, args func(port int) []string, ready func(*process) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for attempt := 1; ; attempt++ {
		var err error
		if s.port, err = freePort(); err != nil {
			return err
		}
		proc, err := s.launch(s.program, args(s.port))
		if err != nil {
			return err
		}
		if err = s.awaitReady(ctx, proc, ready); err == nil {
			s.proc, s.launched, s.ready = proc, args, ready
			return nil
		}
		proc.kill()
		if attempt == portAttempts || !errors.Is(err, errPortTaken) {
			return err
		}
	}
}

func (s *sqlServer) awaitReady(ctx context.Context, proc *process, ready func(*process) bool) error {
	for !ready(proc) {
		var err error
		select {
		case <-proc.done:
			err = errors.New("it ended: " + proc.cmd.ProcessState.String())
			if bytes.Contains(s.logEnd(), []byte("Address already in use")) {
				err = errors.Join(errPortTaken, err)
			}
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(pollEvery):
			continue
		}
		return fmt.Errorf("testenv: start %s on %s: %w\nits log ends with:\n%s", s.name, s.Addr(), err, s.logEnd())
	}
	return nil
}

func (s *sqlServer) logEnd() []byte {
	text, _ := os.ReadFile(s.logFile())
	return text[max(0, len(text)-logTail):]
}
