package zkstore

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"time"
)

// wire is a connection to a server. It reads along until the session's timeout is known, which the client does not
// tell. It bounds the handshake, for which the client waits ten times as long as a session lasts, or for ever.
//
// On a connection that is not the first it holds answers back until the client has asked for its watches again. The
// client asks for changes since the last answer. One that came in between would make it miss some.
type wire struct {
	net.Conn
	dialed time.Time     // before the first byte was sent
	until  time.Time     // for the handshake
	asked  chan struct{} // closed when the client has asked for its watches; nil on the first connection

	mu      sync.Mutex // guards what follows
	head    []byte     // of the first answer
	left    int        // what is to come of it
	timeout time.Duration
	asking  bool // asked is closed
}

// The first answer begins with its length, the version of the protocol, and the timeout in ms; each has 4 bytes.
const timeoutFrom, timeoutTo = 8, 12

// A request begins with its length, its number, and what it is; each has 4 bytes.
const (
	opFrom, opTo = 8, 12
	setWatches   = 101
	// askedTime is how long answers are held back at the most: the client may have no watches.
	askedTime = 100 * time.Millisecond
)

// Read implements net.Conn.
func (w *wire) Read(b []byte) (int, error) {
	if w.hold() {
		timer := time.NewTimer(askedTime)
		select {
		case <-w.asked:
		case <-timer.C:
			w.ask()
		}
		timer.Stop()
	}
	n, err := w.Conn.Read(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left -= n
	if w.timeout == 0 {
		w.head = append(w.head, b[:n]...)
		if len(w.head) >= timeoutTo {
			ms := int32(binary.BigEndian.Uint32(w.head[timeoutFrom:timeoutTo]))
			w.left = int(binary.BigEndian.Uint32(w.head)) + 4 - len(w.head)
			w.timeout, w.head = max(time.Duration(ms)*time.Millisecond, 1), nil
		}
	}
	return n, err
}

// hold reports whether the handshake is over, and the client has watches to ask for.
func (w *wire) hold() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked != nil && !w.asking && w.timeout != 0 && w.left <= 0
}

func (w *wire) ask() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked != nil && !w.asking {
		w.asking = true
		close(w.asked)
	}
}

// Write implements net.Conn. The client writes a request at once.
func (w *wire) Write(b []byte) (int, error) {
	if len(b) >= opTo && binary.BigEndian.Uint32(b[opFrom:opTo]) == setWatches {
		w.ask()
	}
	return w.Conn.Write(b)
}

// agreed is the timeout of the session; 0: it is not known.
func (w *wire) agreed() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.timeout
}

// SetReadDeadline implements net.Conn.
func (w *wire) SetReadDeadline(t time.Time) error { return w.Conn.SetReadDeadline(w.bound(t)) }

// SetWriteDeadline implements net.Conn.
func (w *wire) SetWriteDeadline(t time.Time) error { return w.Conn.SetWriteDeadline(w.bound(t)) }

func (w *wire) bound(t time.Time) time.Time {
	if w.agreed() == 0 && (t.IsZero() || t.After(w.until)) {
		return w.until
	}
	return t
}

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
	w := &wire{Conn: conn, dialed: began, until: began.Add(max(answerTime, l.cfg.SessionTimeout/4))}
	if l.isShaken() {
		w.asked = make(chan struct{})
	}
	if !l.wired(w) {
		_ = conn.Close()
		return nil, errExpired
	}
	return w, nil
}

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
