package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

const (
	// openTimeout bounds the first contact of lockrt.Open.
	openTimeout = 4 * time.Second
	// probeTimeout bounds the probes that look for the reason after a failure.
	probeTimeout = 500 * time.Millisecond
)

// connect asks for one sign of life, and looks at what makes a server no place for locks. It closes the client if it
// fails.
func (s *Store) connect(ctx context.Context, p address) error {
	bounded, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	contact := make(chan error, 1)
	go func() { contact <- s.contact(bounded, p) }()
	var err error
	select {
	case err = <-contact:
	case <-bounded.Done(): // the client heeds a context's deadline, but not its cancellation
		err = bounded.Err()
	}
	if err == nil {
		return nil
	}
	// Close of a client of Sentinels waits for its last dial. The caller must not wait for that.
	go func() { _ = s.Close() }()
	var replica *replicaError
	switch {
	case errors.As(err, &replica):
		return fmt.Errorf("redis at %s %w", p, err)
	case ctx.Err() != nil:
		return fmt.Errorf("reach redis at %s: %w", p, explain(ctx, err))
	case bounded.Err() != nil: // the deadline is not the caller's, so it is no context's error
		err = fmt.Errorf("it did not answer within %s (%v)", openTimeout, err)
	}
	hint := "is it running, and are address and password right?"
	if !isReply(err) {
		if found := p.tlsHint(ctx); found != "" {
			hint = found
		}
	}
	return fmt.Errorf("reach redis at %s: %w; %s", p, err, hint)
}

func (s *Store) contact(ctx context.Context, p address) error {
	if err := dialAny(ctx, p); err != nil {
		return err
	}
	if err := s.client.Ping(ctx).Err(); err != nil {
		return err
	}
	return s.examine(ctx)
}

// dialAny finds out whether any host takes connections. The client would too, but in several rounds that hide the
// cause.
func dialAny(ctx context.Context, p address) error {
	var errs []error
	for i := range p.hosts {
		conn, err := p.dial(ctx, i)
		if err == nil {
			return conn.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// dial connects to one of the hosts and sends nothing.
func (p address) dial(ctx context.Context, i int) (net.Conn, error) {
	network, host := "tcp", p.hosts[i]
	if p.unix {
		network = "unix"
	} else if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), "6379")
	}
	return new(net.Dialer).DialContext(ctx, network, host)
}

// tlsHint finds out whether one side speaks TLS and the other does not. It sends no password.
func (p address) tlsHint(ctx context.Context) string {
	if p.unix {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	for i, host := range p.hosts {
		conn, err := p.dial(ctx, i)
		if err != nil {
			continue
		}
		deadline, _ := ctx.Deadline()
		_ = conn.SetDeadline(deadline)
		speaksTLS, speaksPlain := false, false
		if p.tls {
			speaksPlain = answersPlain(conn)
		} else {
			speaksTLS = answersTLS(ctx, conn)
		}
		_ = conn.Close()
		switch {
		case speaksTLS:
			return fmt.Sprintf("%s speaks TLS: write rediss instead of redis in front of the URL", host)
		case speaksPlain:
			return fmt.Sprintf("%s does not speak TLS: write redis instead of rediss in front of the URL, "+
				"or give the server's TLS port", host)
		}
	}
	return ""
}

// answersTLS reports whether the other side takes part in a handshake, whether or not it accepts the client.
func answersTLS(ctx context.Context, conn net.Conn) bool {
	// Nothing secret is sent over the connection, so the certificate does not matter.
	err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx)
	var alert tls.AlertError
	return err == nil || errors.As(err, &alert)
}

// answersPlain reports whether the other side answers as a server without TLS: with PONG, or with an error.
func answersPlain(conn net.Conn) bool {
	var first [1]byte
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	_, err := conn.Read(first[:])
	return err == nil && (first[0] == '+' || first[0] == '-')
}
