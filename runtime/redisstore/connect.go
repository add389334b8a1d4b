package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// openTimeout bounds the first contact of lockrt.Open.
	openTimeout = 4 * time.Second
	// probeTimeout bounds what is asked after it has failed, to say why.
	probeTimeout = 500 * time.Millisecond
)

// connect asks for one sign of life, and looks at what makes a server no place for locks. It closes the client if it
// fails.
func (s *Store) connect(ctx context.Context, p place) error {
	bounded, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	contact := make(chan error, 1)
	go func() { contact <- s.contact(bounded, p) }()
	var err error
	select {
	case err = <-contact:
	case <-bounded.Done(): // the client heeds deadlines, but not that a context is cancelled
		err = bounded.Err()
	}
	if err == nil {
		return nil
	}
	// Nobody waits for this: a client of Sentinels closes when the last dial is over.
	go func() { _ = s.Close() }()
	var replica *replicaError
	switch {
	case errors.As(err, &replica):
		return fmt.Errorf("redis at %s %w", p, err)
	case ctx.Err() != nil:
		return fmt.Errorf("reach redis at %s: %w", p, withContext(ctx, err))
	case bounded.Err() != nil: // the caller has set no such deadline, and must not be told of one
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

func (s *Store) contact(ctx context.Context, p place) error {
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
func dialAny(ctx context.Context, p place) error {
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

// dial connects to one of the hosts without saying a word.
func (p place) dial(ctx context.Context, i int) (net.Conn, error) {
	network, host := "tcp", p.hosts[i]
	if p.unix {
		network = "unix"
	} else if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), "6379")
	}
	return new(net.Dialer).DialContext(ctx, network, host)
}

// tlsHint finds out whether one side speaks TLS and the other does not. It sends no password.
func (p place) tlsHint(ctx context.Context) string {
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

// answersTLS reports whether the other side takes part in a handshake, whatever it thinks of the client.
func answersTLS(ctx context.Context, conn net.Conn) bool {
	// Nothing is sent over the connection, so it does not matter whose it is.
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

// replicaError says that a server takes no writes.
type replicaError struct{ master string }

func (e *replicaError) Error() string {
	return fmt.Sprintf("is a read-only replica%s; locks are kept by the master: give its address, or redis+sentinel:// or "+
		"redis+cluster://, which find it", e.master)
}

// examine looks at role and eviction policy. What the user may not ask is passed over.
func (s *Store) examine(ctx context.Context) error {
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok {
		return s.examineServer(ctx, s.client)
	}
	var mu sync.Mutex
	return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		info, err := node.Info(ctx).Result()
		mu.Lock()
		defer mu.Unlock()
		s.judgePolicy(node.Options().Addr, infoOf(info))
		if isReply(err) || len(s.findings) > 0 {
			return nil
		}
		return err
	})
}

func (s *Store) examineServer(ctx context.Context, client redis.UniversalClient) error {
	text, err := client.Info(ctx).Result()
	if isReply(err) {
		return s.tryWrite(ctx)
	}
	if err != nil {
		return err
	}
	info := infoOf(text)
	if info["role"] == "slave" && info["slave_read_only"] != "0" {
		return &replicaError{master: " of " + net.JoinHostPort(info["master_host"], info["master_port"])}
	}
	s.judgePolicy("", info)
	return nil
}

// tryWrite is for users that may not use INFO. The key is one that the rules for the default namespace allow, and no
// lock's.
func (s *Store) tryWrite(ctx context.Context) error {
	err := s.client.Del(ctx, "lock:{lockgen}:probe").Err()
	switch {
	case errorCode(err) == "READONLY":
		return &replicaError{}
	case isReply(err):
		return nil
	}
	return err
}

// judgePolicy remembers a warning for the Locker's log.
func (s *Store) judgePolicy(addr string, info map[string]string) {
	policy := info["maxmemory_policy"]
	if policy == "" || policy == "noeviction" {
		return
	}
	attrs := []slog.Attr{
		slog.String("maxmemory-policy", policy), slog.String("maxmemory", info["maxmemory_human"]),
	}
	if addr != "" {
		attrs = append(attrs, slog.String("server", addr))
	}
	s.findings = append(s.findings, finding{
		"redis evicts keys when its memory is full, locks before others, as they expire; set maxmemory-policy noeviction", attrs,
	})
}

// infoOf reads the answer of INFO.
func infoOf(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}
