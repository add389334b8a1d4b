package sqlstore

import (
	"context"
	"crypto/rand"
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
	"github.com/lockgen/lockgen/runtime/internal/startstop"
	"github.com/lockgen/lockgen/runtime/internal/waits"
	"github.com/lockgen/lockgen/runtime/internal/workers"
)

// session implements lockrt.Session and what it may implement besides. Its goroutines: poll asks about the locks
// that are waited for and whether a lease was broken, keepAlive shows that the process lives, cleanUp takes back what
// callers have given up, sweep deletes old rows, listen hears the rings of others, and feel notices writes to a file.
// Its statements run on more: see calls.
type session struct {
	lockrt.SessionConfig
	store *Store
	cfg   Config
	id    string // names the process in the tables
	node  string // as the tables have it
	calls calls
	// telling has the losses that are told of: the locks go on behind them.
	telling workers.Pool
	takes   combine.Combiner[*item]
	frees   combine.Combiner[*item]
	rings   combine.Combiner[*ring]

	renewals combine.Combiner[*renewal]
	late     patient // renewals of leases whose rows somebody has locked, by lease
	bell     bell

	feels  atomic.Bool               // writes to a SQLite file are noticed
	beaten atomic.Pointer[time.Time] // when a poll showed last that the process lives; nil: none did

	beatsAlone atomic.Bool // polls do not show that, since one that did had no answer

	gate *startstop.Gate
	ctx  context.Context // ends with Close

	pinned pinned
	live   liveCache
	stalls stalls

	leftovers *janitor.Janitor[string] // leases that nobody wants
	cancels   patient                  // by row

	mu       sync.Mutex     // guards what follows
	asks     sync.WaitGroup // questions under way; Add only while a caller is inside the gate
	watches  map[string]*watch
	polls    timeheap.Heap[*watch]
	sureAt   time.Time            // when the queues were read last
	toldAt   time.Time            // when the session's own row was read last
	recallAt time.Time            // when it was looked last whether somebody waits behind readers
	waiters  map[string]*waiter   // by escaped lease ID, as what follows
	leases   map[string]*held     // granted, and not seen to end
	losing   map[string]time.Time // broken, and since when that is known
	heeded   map[string]struct{}  // lines of the session's own row that are to be deleted; see acknowledge

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
	g := startstop.New()
	s := &session{
		SessionConfig: cfg, store: store, cfg: storeCfg, id: strings.ToLower(rand.Text()), node: shown(cfg.Node, 200),
		gate: g, ctx: g.Context(),
		watches: make(map[string]*watch), polls: timeheap.New(func(w *watch) *int { return &w.heapPlace }),
		sureAt:  time.Now(),
		waiters: make(map[string]*waiter), leases: make(map[string]*held), losing: make(map[string]time.Time),
		heeded:     make(map[string]struct{}),
		wakePoller: make(chan struct{}, 1), wakeKeeper: make(chan struct{}, 1), wakeFeeler: make(chan struct{}, 1),
	}
	s.calls.store = store
	s.leftovers, s.cancels, s.late = s.newJanitor(), newPatient(janitors), newPatient(lateRenewals)
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

	queued   bool // it was waited for, so that somebody may stand behind it
	reads    bool
	recalled bool // its Locker knows that somebody waits behind it
}

// hold remembers a lease, for as long as it may have to be told that it was broken.
func (s *session) hold(id string, h held) {
	s.mu.Lock()
	first := len(s.leases) == 0
	s.leases[id] = &h
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
	if !s.gate.Enter() {
		return lockrt.Grant{}, lockrt.ErrClosed
	}
	defer s.gate.Leave()
	q := s.newRequest(req)
	s.leftovers.Take(q.id)
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
		err = waits.ErrBroken
	case err == nil && a.outcome != granted:
		s.leftovers.Unwanted(q.id) // a statement that had no answer may still take the lock
		return lockrt.Grant{}, a.busy(req.Key)
	}
	if err != nil {
		s.abandon(q.id, req.Key, req.TTL)
		return lockrt.Grant{}, err
	}
	return s.accept(q, a, false), nil
}

// accept turns an answer into the caller's grant.
func (s *session) accept(q *request, a answer, queued bool) lockrt.Grant {
	g := a.grant(q.req)
	s.hold(q.id, held{key: q.req.Key, until: g.Start.Add(q.req.TTL), queued: queued, reads: q.kind.read})
	return g
}

// behind reports whether somebody may wait behind a lease, as far as this session knows.
func (s *session) behind(id string, name []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.leases[id]
	return h != nil && h.queued || s.watches[string(name)] != nil
}

// Close implements lockrt.Session.
func (s *session) Close(ctx context.Context) error {
	return s.gate.Close(ctx, func() {
		s.gate.Stopped()
		by := s.gate.ClosedAt().Add(closeTime)
		s.telling.Close(by)
		s.cancelRest(by) // what was lost when cleanUp had ended
		s.pinned.close(s.store.db)
		s.calls.Close(time.Now().Add(closeWait)) // what has no answer ends in the background
		s.store.pool.closed()
	})
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

// rowSlot is slot for statements on one row, whose turn it waits for first.
func (s *session) rowSlot(ctx context.Context, name []byte) (func(), error) {
	end, err := s.store.turns.take(ctx, name)
	if err != nil {
		return nil, err
	}
	over, err := s.slot(ctx)
	if err != nil {
		end()
		return nil, err
	}
	return func() { over(); end() }, nil
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
