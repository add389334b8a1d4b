package zkstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// dial connects to a server for the client, which gives no context.
func (l *link) dial(network, address string, limit time.Duration) (net.Conn, error) {
	if l.isOver() {
		return nil, errExpired
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn, err := l.cfg.dial(ctx, network, address)
	if err != nil {
		l.failed(fmt.Errorf("connect to %s: %w", address, err))
		return nil, err
	}
	w := &wire{Conn: conn, dialed: began, until: began.Add(shakeTime(l.cfg.SessionTimeout))}
	w.failed = func(err error) { l.failed(refusedError{address, err}) }
	if l.isShaken() {
		w.asked = make(chan struct{})
	}
	if !l.wired(w) {
		_ = conn.Close()
		return nil, errExpired
	}
	return w, nil
}

// shakeTime is how long a server may take to answer a handshake. A call is to have time for another server after it.
func shakeTime(session time.Duration) time.Duration {
	return min(max(answerTime, session/4), callTime/2)
}

// refusedError says that there was a connection and no handshake.
type refusedError struct {
	address string
	err     error
}

func (e refusedError) Error() string {
	text := "begin a session at " + e.address + ": " + e.err.Error()
	if errors.Is(e.err, io.EOF) || errors.Is(e.err, syscall.ECONNRESET) {
		text += "; a server closes the connection if this host has too many (maxClientCnxns), if it wants TLS, or if it " +
			"has lost what this process has seen"
	}
	return text
}

func (e refusedError) Unwrap() error { return e.err }

func (c Config) dial(ctx context.Context, network, address string) (net.Conn, error) {
	switch {
	case c.Dial != nil:
		return c.Dial(ctx, network, address)
	case c.TLS != nil:
		return (&tls.Dialer{Config: c.TLS}).DialContext(ctx, network, address)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// servers tells the client where to connect next. Unlike that of the client it looks names up at each connection, and
// does not pause for a second where a tenth will do.
type servers struct {
	all  []string
	l    *link
	next int
	bad  int // in a row
}

// Init implements zk.HostProvider.
func (s *servers) Init(all []string) error {
	s.all = all
	return nil
}

// Len implements zk.HostProvider.
func (s *servers) Len() int { return len(s.all) }

// Connected implements zk.HostProvider.
func (s *servers) Connected() { s.bad = 0 }

// Next implements zk.HostProvider. A session that is over gets no connection: true lets the client see that it ends.
func (s *servers) Next() (string, bool) {
	if s.bad >= len(s.all) {
		pause := time.NewTimer(min(time.Second, 50*time.Millisecond*time.Duration(s.bad)))
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-s.l.gone:
		}
	}
	s.bad++
	s.next = (s.next + 1) % len(s.all)
	return s.all[s.next], s.l.isOver()
}
