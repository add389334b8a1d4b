package zkstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/runtime/internal/waits"
)

// link is one session of ZooKeeper, over one connection after the other. The client would put another session in its
// place when it has run out, and send to that one what was meant for the first. So each session has a client of its
// own, which gets no connection any more when the session is over.
type link struct {
	s   *session
	cfg Config

	conn   *zk.Conn
	ended  <-chan zk.Event // closed when the goroutines of the client are gone
	gone   chan struct{}   // closed when the session of ZooKeeper is over
	queues *waits.Together[*queue]
	ready  chan struct{} // closed when it can be used, or cannot be opened
	opened error         // why not; after ready

	id   int64  // of the session of ZooKeeper; after the first handshake
	path string // of its node
	base int64  // what is added to a zxid to make an epoch

	mu      sync.Mutex // guards what follows
	over    bool       // gone is closed
	why     error      // the last time that there was no connection
	wire    *wire      // the last one
	up      chan struct{}
	giveUp  *time.Timer // runs while there is no connection; nil: there always was one
	signs   signs
	watched map[string]changes // what waiters watch, by its path
	roomFor int                // how many of them there may be before those are left out that have fired
	server  time.Time          // what the leader's clock said
	serverX time.Time          // when that was known here
}

var errNoServer = errors.New("no server could be reached")

// newLink starts to connect.
func newLink(s *session) (*link, error) {
	l := &link{
		s: s, cfg: s.cfg, gone: make(chan struct{}), ready: make(chan struct{}), up: make(chan struct{}),
		signs: signs{tick: s.cfg.Tick}, watched: make(map[string]changes),
	}
	l.askTogether()
	began := make(chan struct{}) // the client calls back before it is known here
	defer close(began)
	conn, events, err := zk.Connect(s.servers, s.cfg.SessionTimeout,
		zk.WithDialer(l.dial), zk.WithHostProvider(&servers{l: l}), zk.WithLogger(silent{}), zk.WithLogInfo(false),
		zk.WithEventCallback(func(e zk.Event) {
			<-began
			l.heard(e)
		}))
	if err != nil {
		return nil, err
	}
	l.conn, l.ended = conn, events
	return l, nil
}

// silent is the log of the client, which tells of every attempt. The session logs what matters.
type silent struct{}

func (silent) Printf(string, ...any) {}

// heard takes what the client says of its connection. The client waits for it.
func (l *link) heard(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	switch e.State {
	case zk.StateHasSession:
		l.connected()
	case zk.StateDisconnected:
		l.disconnected()
	case zk.StateExpired:
		l.expire()
	}
}

func (l *link) connected() {
	l.mu.Lock()
	w := l.wire
	if l.signs.strong.IsZero() {
		l.id = l.conn.SessionID()
		l.path = l.s.space.session(l.id)
		l.signs.timeout = w.agreed()
	}
	l.signs.shaken(w.dialed)
	if l.giveUp != nil {
		l.giveUp.Stop()
	}
	l.why = nil // what failed before is no reason for what fails later
	select {
	case <-l.up:
	default:
		close(l.up)
	}
	l.mu.Unlock()
	l.s.askAll() // the client may not have heard of what they wait for
}

func (l *link) disconnected() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.up:
		l.up = make(chan struct{})
		l.giveUp = time.AfterFunc(giveUpTimes*l.signs.timeout, l.forsake)
	default:
	}
}

// giveUpTimes is after how many of its timeouts without a connection a session counts as over. The servers may never say
// so: they refuse a client that has seen more than they know, as after a restart without their data. If they do keep
// the session, that ends a timeout after they are back.
const giveUpTimes = 2

// forsake ends the link if it still has no connection.
func (l *link) forsake() {
	l.mu.Lock()
	up := l.up
	l.mu.Unlock()
	select {
	case <-up:
	default:
		l.expire()
	}
}

// expire ends the link. The servers have ended its session, and deleted its nodes.
func (l *link) expire() {
	if !l.end() {
		return
	}
	l.s.lose(l)
	l.s.calls.Start(func() { l.close(context.Background()) })
}

// end reports whether it was not over before.
func (l *link) end() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	l.over = true
	if l.giveUp != nil {
		l.giveUp.Stop()
	}
	close(l.gone)
	return true
}

func (l *link) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// close ends the session of ZooKeeper, which deletes all that it has there, and waits for the client. Without a
// connection there is nobody to be told. It reports whether the servers have answered.
func (l *link) close(ctx context.Context) (answered bool) {
	if l.isUp() {
		began := time.Now()
		l.conn.Close()
		answered = time.Since(began) < closeTime
	}
	l.abandon(ctx)
	return answered
}

// closeTime is how long the client waits for the answer.
const closeTime = time.Second

// abandon leaves the session of ZooKeeper to its timeout, and waits for the client.
func (l *link) abandon(ctx context.Context) {
	l.end()
	l.cut()
	go l.conn.Close() // for a second it waits for an answer that nobody gives
	for {
		select {
		case _, more := <-l.ended:
			if !more {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// cut ends the connection. The client makes another one.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wire != nil {
		_ = l.wire.Close()
	}
}

// wired reports false if the link is over.
func (l *link) wired(w *wire) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.wire = w
	}
	return !l.over
}

func (l *link) isUp() bool {
	select {
	case <-l.connection():
		return true
	default:
		return false
	}
}

// isShaken reports whether there was a handshake before.
func (l *link) isShaken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.signs.strong.IsZero()
}

func (l *link) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.why = err
}

// await waits for a connection.
func (l *link) await(ctx context.Context) error {
	l.mu.Lock()
	up := l.up
	l.mu.Unlock()
	select {
	case <-up:
		return nil
	default:
	}
	select {
	case <-up:
		return nil
	case <-l.gone:
		return errExpired
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		return unreachedError{context.Cause(ctx), l.why}
	}
}

// unreachedError is errNoServer with the reason for which nobody waits any longer, and the last failure, which may be
// nil.
type unreachedError struct{ over, why error }

func (e unreachedError) Error() string {
	if e.why == nil {
		return errNoServer.Error()
	}
	return errNoServer.Error() + ": " + e.why.Error()
}

func (e unreachedError) Unwrap() []error {
	if e.why == nil {
		return []error{errNoServer, e.over}
	}
	return []error{errNoServer, e.over, e.why}
}

// latest is the last moment at which a lease may begin so that its session outlives it.
func (l *link) latest(ttl time.Duration) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.signs.latest(ttl)
}

func (l *link) maxTTL() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.signs.maxTTL()
}

func (l *link) touched(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.signs.touched(sent)
}

func (l *link) wrote(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.signs.wrote(sent)
}

// clock keeps what the leader's clock said when it took a write. Another leader may have another clock.
func (l *link) clock(ms int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server, l.serverX = time.UnixMilli(ms), time.Now()
}

// timeFresh is for how long the time of the leader is counted on without asking.
const timeFresh = 10 * time.Second

// now is what the leader's clock says at the least. It asks, with a write, if nothing was heard of it for a while.
func (l *link) now(ctx context.Context) (time.Time, error) {
	if now, fresh := l.known(); fresh {
		return now, nil
	}
	ask := func(c *zk.Conn) (*zk.Stat, error) { return c.Set(l.s.space.keeps(), []byte{}, -1) }
	s, _, err := repeat(ctx, l, ask)
	if errors.Is(err, zk.ErrNoNode) { // somebody has deleted it
		if err = l.makeTree(ctx); err == nil {
			s, _, err = repeat(ctx, l, ask)
		}
	}
	if err != nil {
		return time.Time{}, err
	}
	l.clock(s.Mtime)
	now, _ := l.known()
	return now, nil
}

func (l *link) known() (now time.Time, fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	past := time.Since(l.serverX)
	return l.server.Add(past), past < timeFresh
}

func (l *link) epoch(zxid int64) uint64 { return uint64(l.base + zxid) }
