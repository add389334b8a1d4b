package testenv

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

var errPortTaken = errors.New("port is taken")

const (
	pollEvery  = 5 * time.Millisecond
	askTimeout = time.Second
	logTail    = 2000
)

// launch starts the process and waits until it answers. The caller holds s.mu.
func (s *RedisServer) launch(ctx context.Context) error {
	logFile, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("testenv: open the log of redis-server: %w", err)
	}
	defer logFile.Close() // the child has its own copy
	proc, err := startProcess(s.program, s.args(), logFile, s.cfg.Env...)
	if err != nil {
		return fmt.Errorf("testenv: start %s: %w", s.program, err)
	}
	if err := s.awaitReady(ctx, proc); err != nil {
		proc.kill()
		return err
	}
	s.proc = proc
	return nil
}

// awaitReady asks until the answer comes from the process just started. The
// port alone proves nothing: when the bind lost a race, somebody else's server
// answers there.
func (s *RedisServer) awaitReady(ctx context.Context, proc *process) error {
	for {
		pid, err := s.askProcessID(ctx)
		if err == nil && pid == proc.pid() {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("process %d answers there, not ours (%d)", pid, proc.pid())
		}
		select {
		case <-proc.done:
			return s.startError(proc, err)
		case <-ctx.Done():
			return s.startError(proc, errors.Join(ctx.Err(), err))
		case <-time.After(pollEvery):
		}
	}
}

func (s *RedisServer) startError(proc *process, err error) error {
	text, _ := os.ReadFile(s.logFile())
	text = text[max(0, len(text)-logTail):]
	state := "is running but not ready"
	if proc.exited() {
		state = "ended"
		if bytes.Contains(text, []byte("Address already in use")) {
			err = errors.Join(errPortTaken, err)
		}
	}
	return fmt.Errorf("testenv: redis-server on %s %s: %w\nits log ends with:\n%s", s.Addr(), state, err, text)
}

// askProcessID sends PING and INFO. A server that is still loading its data
// answers PING with an error and is not ready.
func (s *RedisServer) askProcessID(ctx context.Context) (int, error) {
	if _, err := s.askOnce(ctx, "PING"); err != nil {
		return 0, err
	}
	info, err := s.askOnce(ctx, "INFO", "server")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(info) {
		if id, ok := strings.CutPrefix(line, "process_id:"); ok {
			return strconv.Atoi(strings.TrimSpace(id))
		}
	}
	return 0, errors.New("INFO server names no process_id")
}

// askOnce sends one command on a connection of its own.
func (s *RedisServer) askOnce(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Addr())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	conn.SetDeadline(deadline)
	r := bufio.NewReader(conn)
	if s.cfg.Password != "" {
		if _, err := ask(conn, r, "AUTH", s.cfg.Password); err != nil {
			return "", err
		}
	}
	return ask(conn, r, args...)
}

// ask sends one command and reads one simple or bulk reply. Package testenv
// speaks the protocol itself so that the tests of a client do not depend on it.
func ask(w io.Writer, r *bufio.Reader, args ...string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return "", err
	}
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	switch {
	case strings.HasPrefix(line, "+"):
		return line[1:], nil
	case strings.HasPrefix(line, "$"):
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 0 {
			return "", fmt.Errorf("%s: unexpected reply %q", args[0], line)
		}
		body := make([]byte, n+len("\r\n"))
		if _, err := io.ReadFull(r, body); err != nil {
			return "", err
		}
		return string(body[:n]), nil
	default:
		return "", fmt.Errorf("%s: reply %q", args[0], line)
	}
}
