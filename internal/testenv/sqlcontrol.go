package testenv

import (
	"context"
	"fmt"
)

// Kill ends the server without a goodbye and returns when it is gone, as with a crash. What it had not written to disk,
// or to its log, is lost. Killing a server that is down does nothing.
func (s *sqlServer) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crash()
	return nil
}

// crash kills the process. PostgreSQL's has children, which it takes along only if it is asked to quit at once.
func (s *sqlServer) crash() {
	switch {
	case s.proc == nil:
		return
	case s.name == "postgres":
		_ = s.resumeAll()
		s.proc.quit()
	default:
		s.proc.kill()
	}
	s.proc = nil
}

// Restart starts the server again on the same port and in the same directory, and returns once it takes connections. A
// server that still runs is killed first.
func (s *sqlServer) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.launched == nil {
		return s.failed("restart", errStopped)
	}
	s.crash()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	err := onItsPort(ctx, func() error {
		proc, err := s.launch(s.program, s.launched(s.port))
		if err != nil {
			return err
		}
		if err := s.awaitReady(ctx, proc, s.ready); err != nil {
			proc.kill()
			return err
		}
		s.proc = proc
		return nil
	})
	if err != nil {
		return s.failed("restart", err)
	}
	return nil
}

// Pause freezes the server and its children with SIGSTOP: connections stay open and nothing is answered, as with a
// machine that hangs.
func (s *sqlServer) Pause() error { return s.control("pause", s.pauseAll) }

// Resume lets a paused server go on.
func (s *sqlServer) Resume() error { return s.control("resume", s.resumeAll) }

func (s *sqlServer) control(verb string, do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return s.failed(verb, errDown)
	}
	if err := do(); err != nil {
		return s.failed(verb, err)
	}
	return nil
}

func (s *sqlServer) failed(verb string, err error) error {
	return fmt.Errorf("testenv: %s %s on %s: %w", verb, s.name, s.Addr(), err)
}
