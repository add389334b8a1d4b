package zkstore

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"
)

// wire is a connection to a server. It reads along until the session's timeout is known, which the client does not
// tell. It bounds the handshake, for which the client waits ten times as long as a session lasts, or for ever.
//
// On a connection that is not the first it holds answers back until the client has asked for its watches again. The
// client asks for changes since the last answer. One that came in between would make it miss some.
//
// It hides from the client that a request could not be written. The client would give such a request two answers, or
// three at its end, and has room for one of an authentication, and for two of others. Then it would stand still for
// ever. So the connection is closed, and the client learns of that where it reads.
type wire struct {
	net.Conn
	failed func(error)   // takes why there is no handshake
	dialed time.Time     // before the first byte was sent
	until  time.Time     // for the handshake
	asked  chan struct{} // closed when the client has asked for its watches; nil on the first connection

	mu      sync.Mutex // guards what follows
	head    []byte     // of the first answer
	left    int        // what is to come of it
	timeout time.Duration
	asking  bool // asked is closed
}

// The first answer begins with its length, the version of the protocol, and the timeout in ms; each has 4 bytes. It has
// 37 bytes after its length.
const (
	lengthTo               = 4
	timeoutFrom, timeoutTo = 8, 12
	mostHead               = 1000
)

var errNoZooKeeper = errors.New("its answer is not one of ZooKeeper")

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
	if early, refused := w.note(b[:n]); early {
		if refused != nil {
			n, err = 0, refused // or io.ReadFull takes what it wants and drops the error
			_ = w.Conn.Close()
		}
		if err != nil {
			w.failed(err)
		}
	}
	return n, err
}

// note takes what was read. It reports whether the handshake was not over before, and why it cannot go on.
func (w *wire) note(b []byte) (early bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left -= len(b)
	if early = w.timeout == 0; early {
		w.head = append(w.head, b...)
		if len(w.head) >= lengthTo && binary.BigEndian.Uint32(w.head) > mostHead {
			return early, errNoZooKeeper // the client would make room for an answer of that length
		}
		if len(w.head) >= timeoutTo {
			ms := int32(binary.BigEndian.Uint32(w.head[timeoutFrom:timeoutTo]))
			w.left = int(binary.BigEndian.Uint32(w.head)) + 4 - len(w.head)
			w.timeout, w.head = max(time.Duration(ms)*time.Millisecond, 1), nil
		}
	}
	return early, nil
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
	if _, err := w.Conn.Write(b); err != nil {
		_ = w.Conn.Close()
	}
	return len(b), nil
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
