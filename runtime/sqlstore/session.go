package sqlstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgen/lockgen/internal/combine"
	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/sqldialect"
	"github.com/lockgen/lockgen/internal/timeheap"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/janitor"
)

// session implements lockrt.Session and what it may implement besides. Its goroutines: poll asks about the locks
// that are waited for and whether a lease was broken, keepAlive shows that the process lives, cleanUp takes back what
// callers have given up, sweep deletes old rows, listen hears the rings of others, and feel notices writes to a file. Its statements run on more: see calls.
type session struct {
	lockrt.SessionConfig
	store *Store
	cfg   Config
	id    string // names the process in the tables
	node  string // as the tables have it
	calls calls
	takes combine.Combiner[*item]
	frees combine.Combiner[*item]
	rings combine.Combiner[*ring]

	renewals combine.Combiner[*renewal]
	bell     bell

	feels  atomic.Bool               // writes to a SQLite file are noticed
	beaten atomic.Pointer[time.Time] // when a poll showed last that the process lives; nil: none did

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	ended   chan struct{} // closed when the goroutines are gone
	running sync.WaitGroup
	closing sync.Once

	pinned pinned
	live   liveCache
	stalls stalls

	leftovers *janitor.Janitor[string] // leases that nobody wants

	mu        sync.Mutex // guards what follows
	closed    bool
	acquiring sync.WaitGroup // Add only while not closed; cleanUp waits for it before its last round
	asks      sync.WaitGroup // questions under way; Add only within acquiring
	watches   map[string]*watch
	polls     timeheap.Heap[*watch]
	sureAt    time.Time            // when the queues were read last
	toldAt    time.Time            // when the session's own row was read last
	recallAt  time.Time            // when it was looked last whether somebody waits behind readers
	waiters   map[string]*waiter   // by escaped lease ID, as what follows
	leases    map[string]*held     // granted, and not seen to end
	losing    map[string]time.Time // broken, and since when that is known

	wakePoller, wakeKeeper, wakeFeeler chan struct{}
}

var (
	_ lockrt.Inspector  = (*session)(nil)
	_ lockrt.Pager      = (*session)(nil)
	_ lockrt.Breaker    = (*session)(nil)
	_ lockrt.Checker    = (*session)(nil)
	_ lockrt.Sharer     = (*session)(nil)
	_ lockrt.Downgrader = (*session)(nil)
)

// callerConns is how many connections the statements of callers use at a time. SQLite has one writer, and those who wait
// for each other there do so in no order: callers of one process take their turns before they get that far.
const callerConns = 8

// newSession makes a session whose goroutines do not run yet.
func newSession(store *Store, cfg lockrt.SessionConfig, storeCfg Config) *session {
	ctx, stop := context.WithCancel(context.Background())
	s := &session{
		SessionConfig: cfg, store: store, cfg: storeCfg, id: strings.ToLower(rand.Text()), node: shown(cfg.Node, 200),
		ctx: ctx, stop: stop, ended: make(chan struct{}),
		watches: make(map[string]*watch), polls: timeheap.New(func(w *watch) *int { return &w.heapPlace }),
		sureAt:  time.Now(),
		waiters: make(map[string]*waiter), leases: make(map[string]*held), losing: make(map[string]time.Time),
		wakePoller: make(chan struct{}, 1), wakeKeeper: make(chan struct{}, 1), wakeFeeler: make(chan struct{}, 1),
	}
	s.calls.db = store.db
	s.leftovers = s.newJanitor()
	s.bell.echo = make(chan struct{}, 1)
	if s.cfg.Listener != nil {
		s.id += hearing
	}
	s.ringer(&s.rings)
	s.combining(&s.takes, s.takeMany)
	s.combining(&s.frees, s.freeMany)
	s.combineRenewals()
	return s
}

// held is a lease that this session was granted and has not seen the end of.
type held struct {
	key   string
	until time.Time // then it is over, unless it was renewed

	reads    bool
	recalled bool // its Locker knows that somebody waits behind it
}

// hold remembers a lease, for as long as it may have to be told that it was broken.
func (s *session) hold(id, key string, until time.Time, reads bool) {
	s.mu.Lock()
	first := len(s.leases) == 0
	s.leases[id] = &held{key: key, until: until, reads: reads}
	s.mu.Unlock()
	if first {
		pace.Wake(s.wakeKeeper)
		pace.Wake(s.wakePoller)
	}
}

func (s *session) drop(id string) {
	s.mu.Lock()
	delete(s.leases, id)
	s.mu.Unlock()
}

// Acquire implements lockrt.Session.
func (s *session) Acquire(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	if !s.enter() {
		return lockrt.Grant{}, lockrt.ErrClosed
	}
	defer s.acquiring.Done()
	q := s.newRequest(req)
	if err := ctx.Err(); err != nil {
		s.abandon(q.id, req.Key, req.TTL) // its place may have been kept
		return lockrt.Grant{}, err
	}
	if req.Wait > 0 {
		return s.wait(ctx, q)
	}
	a, err := s.ask(ctx, q, callTime)
	s.doubt(q.id, req.Key, a.latest)
	switch {
	case err == nil && a.outcome == broken:
		err = errBrokenUnknown
	case err == nil && a.outcome != granted:
		s.leftovers.Unwanted(q.id) // a statement that had no answer may still take the lock
		return lockrt.Grant{}, a.busy(req.Key)
	}
	if err != nil {
		s.abandon(q.id, req.Key, req.TTL)
		return lockrt.Grant{}, err
	}
	return s.accept(q, a), nil
}

var errBrokenUnknown = fmt.Errorf("%w: it was broken before its grant was known", lockrt.ErrLost)

// accept turns an answer into the caller's grant.
func (s *session) accept(q *request, a answer) lockrt.Grant {
	g := a.grant(q.req)
	s.hold(q.id, q.req.Key, g.Start.Add(q.req.TTL), q.kind.read)
	return g
}

// enter counts an Acquire, unless the session is closed.
func (s *session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.acquiring.Add(1)
	}
	return !s.closed
}

// Close implements lockrt.Session.
func (s *session) Close(ctx context.Context) error {
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.stop()
		go func() {
			s.running.Wait()
			s.pinned.close(s.store.db)
			s.calls.Close(time.Now().Add(2 * callTime)) // a driver may be late to heed the end of a call
			close(s.ended)
		}()
	})
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// latest is until when a statement may act that is sent at this moment, on the server's clock.
func (s *session) latest() int64 { return s.store.clock.Latest(time.Now().Add(callTime)) }

// connected returns the statements and one of the connections of callers, which over gives back.
func (s *session) connected(ctx context.Context) (t *tables, over func(), err error) {
	if t, err = s.store.ready(ctx); err != nil {
		return nil, nil, err
	}
	over, err = s.slot(ctx)
	return t, over, err
}

// slot waits for one of the connections of callers. What it returns gives that back.
func (s *session) slot(ctx context.Context) (func(), error) {
	slots := s.store.slots
	if t := s.store.known.Load(); t != nil && t.Dialect == sqldialect.SQLite {
		slots = s.store.single
	}
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
