package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

var (
	errDown    = errors.New("it is not running")
	errStopped = errors.New("it was stopped for good")
)

// Kill ends the server with SIGKILL and returns when it is gone. What it had
// not written to disk is lost. Killing a server that is down does nothing.
func (s *RedisServer) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killLocked()
	return nil
}

// Restart starts the server again on the same port and in the same directory,
// and returns once it has answered. A server that still runs is killed first.
func (s *RedisServer) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return s.fail("restart", errStopped)
	}
	s.killLocked()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := onItsPort(ctx, func() error { return s.launch(ctx) }); err != nil {
		return s.fail("restart", err)
	}
	return nil
}

// onItsPort launches a server again. Its port must be the same one: whoever took that is waited for until ctx ends.
func onItsPort(ctx context.Context, launch func() error) error {
	for {
		if err := launch(); !errors.Is(err, errPortTaken) || ctx.Err() != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Pause freezes the server with SIGSTOP: connections stay open and nothing is
// answered, as with a machine that hangs.
func (s *RedisServer) Pause() error { return s.signal("pause", (*process).pause) }

// Resume lets a paused server go on with SIGCONT.
func (s *RedisServer) Resume() error { return s.signal("resume", (*process).resume) }

// Stop ends the server for good, paused or not, and removes its directory.
// Further calls do nothing.
func (s *RedisServer) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.killLocked()
	if err := os.RemoveAll(s.dir); err != nil {
		return s.fail("remove the directory of", err)
	}
	return nil
}

func (s *RedisServer) killLocked() {
	if s.proc != nil {
		s.proc.kill()
		s.proc = nil
	}
}

func (s *RedisServer) signal(verb string, send func(*process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return s.fail(verb, errDown)
	}
	if err := send(s.proc); err != nil {
		return s.fail(verb, err)
	}
	return nil
}

func (s *RedisServer) fail(verb string, err error) error {
	return s.report(fmt.Errorf("testenv: %s redis-server on %s: %w", verb, s.Addr(), err))
}
