package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/sqldialect"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/storeclock"
)

// Config configures a [Store]. The zero value is usable.
type Config struct {
	// Dialect is the SQL that the database speaks. If it is empty, the server is asked at the first use.
	Dialect Dialect
	// Table is what the names of the tables begin with, a name or a schema and a name with a dot between; _lock and
	// _session are added. ASCII letters, digits and underscores. Defaults to "lockgen".
	Table string
	// Retention is how long the last epoch of a key is remembered after its last use. Later the server's clock alone
	// makes epochs grow. Defaults to 1 h.
	Retention time.Duration
	// Liveness is how long a waiter of a process that no longer shows itself keeps its place in a queue. Processes
	// that wait show themselves three times as often. Defaults to 3 s.
	Liveness time.Duration
	// PollMin and PollMax are the shortest and the longest pause between two questions about the locks that a process
	// waits for. One statement asks about all of them, twice in the time that the process expects to wait. A holder
	// learns within PollMax that its lease was broken. They default to 5 ms and 250 ms.
	PollMin, PollMax time.Duration
	// Listener lets processes notify each other in PostgreSQL when a lock changes hands, so that they poll only rarely.
	// See package pgxlisten, which also sets it for stores that are opened by URL. While no notification arrives, as
	// behind a pooler in transaction mode, they poll as without a Listener. Defaults to nil: poll.
	Listener Listener
}

func (c Config) withDefaults() (Config, error) {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&c.Retention, time.Hour)
	set(&c.Liveness, 3*time.Second)
	set(&c.PollMin, 5*time.Millisecond)
	set(&c.PollMax, max(250*time.Millisecond, c.PollMin))
	if c.Table == "" {
		c.Table = "lockgen"
	}
	switch {
	case c.Retention < time.Second || c.Liveness < 100*time.Millisecond:
		return c, fmt.Errorf("%w: sqlstore.Config has Retention %s and Liveness %s; at least 1s and 100ms are needed",
			lockrt.ErrOptions, c.Retention, c.Liveness)
	case c.PollMin < time.Millisecond || c.PollMax < c.PollMin:
		return c, fmt.Errorf("%w: sqlstore.Config has PollMin %s and PollMax %s; at least 1ms is needed, and PollMax not "+
			"below PollMin", lockrt.ErrOptions, c.PollMin, c.PollMax)
	}
	return c, nil
}

// resolve is withDefaults and the statements, of a dialect that is known.
func (c Config) resolve() (Config, *tables, error) {
	c, err := c.withDefaults()
	if err != nil {
		return c, nil, err
	}
	t, err := newTables(c.Dialect, c.Table)
	if err != nil {
		return c, nil, fmt.Errorf("%w: %w", lockrt.ErrOptions, err)
	}
	return c, t, nil
}

// Store keeps locks in a database. It implements lockrt.Store.
type Store struct {
	db    *sql.DB
	pool  *prepared // db, for statements that come again and again
	cfg   Config
	owned bool // the pool was opened by URL

	slots  chan struct{} // has an element for each connection that statements of callers use
	single chan struct{} // the same, where there is one writer at a time
	turns  turns
	asking chan struct{} // has an element while somebody examines the server
	known  atomic.Pointer[tables]
	clock  *storeclock.Clock
	file   *sqldialect.File

	rowWait atomic.Int64 // how long after it began a statement may act, where it does not look at the clock again

	home     atomic.Pointer[whereabouts] // where the locks are, in PostgreSQL
	compared atomic.Pointer[otherPool]   // the last pool of DoTx that is not db
}

var _ lockrt.Store = (*Store)(nil)

// New returns a store on db, which stays the caller's. It does not contact the server. The first use does; it refuses
// missing tables, and servers and settings that are unsuitable for locks. lockrt.New refuses an invalid Config.
//
// The store uses up to eight connections of db for concurrent calls. Each Locker has one more for polls, and keeps one
// for renewals. So no lease is lost when other work takes all connections. With SetMaxOpenConns below 4 none is kept,
// and of a larger limit half at the most by all Lockers together; other renewals wait for a connection like all calls.
// Let the pool keep as many when they are idle (SetMaxIdleConns): by default it keeps two, and opens and closes the
// others for each call.
func New(db *sql.DB, cfg Config) *Store {
	return &Store{
		db: db, pool: &prepared{DB: db}, cfg: cfg, clock: storeclock.New(), asking: make(chan struct{}, 1),
		slots: make(chan struct{}, callerConns), single: make(chan struct{}, 1), file: sqldialect.FileOf(db),
	}
}

// DB returns the pool, for packages that keep their own data beside the locks.
func (s *Store) DB() *sql.DB { return s.db }

// Config returns what [New] was given, for the same packages.
func (s *Store) Config() Config { return s.cfg }

// Close closes the pool if the store was opened by URL.
func (s *Store) Close() error {
	if !s.owned {
		return nil
	}
	return s.db.Close()
}

// Open implements lockrt.Store.
func (s *Store) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	if s.db == nil {
		return nil, fmt.Errorf("%w: sqlstore.New was given no *sql.DB", lockrt.ErrOptions)
	}
	checked := s.cfg
	if checked.Dialect == "" {
		checked.Dialect = Postgres // any: the server will be asked
	}
	storeCfg, _, err := checked.resolve()
	if err != nil {
		return nil, err
	}
	if most := s.db.Stats().MaxOpenConnections; most > 0 && most < minPool {
		cfg.Logger.Warn("locks: the pool is too small for one of its connections to be kept for renewals",
			slog.Int("connections", most), slog.Int("needed", minPool))
	}
	sess := newSession(s, cfg, storeCfg)
	s.pool.opened()
	sess.gate.Go(sess.poll)
	sess.gate.Go(sess.keepAlive)
	sess.gate.Go(sess.cleanUp)
	sess.gate.Go(sess.sweep)
	sess.gate.Go(sess.feel)
	if storeCfg.Listener != nil {
		sess.gate.Go(sess.listen)
	}
	return sess, nil
}

// ready returns the statements. Until it has succeeded once it examines the server and the tables.
func (s *Store) ready(ctx context.Context) (*tables, error) {
	if err := s.file.Check(); err != nil {
		return nil, err
	}
	if t := s.known.Load(); t != nil {
		return t, nil
	}
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if t := s.known.Load(); t != nil {
		return t, nil
	}
	for {
		t, err := s.examine(ctx)
		if err == nil {
			if t.prepares {
				s.pool.turnOn()
			}
			s.known.Store(t)
			return t, nil
		}
		// Nobody else waits for SQLite's file, where the pool has no busy_timeout.
		if !sqldialect.SQLite.Again(err) || !pace.Sleep(ctx, pace.Jitter(busyPause)) {
			return nil, err
		}
	}
}

// busyPause is how long a look at a database waits that another process has locked.
const busyPause = 20 * time.Millisecond

func (s *Store) examine(ctx context.Context) (*tables, error) {
	t, err := s.cfg.detect(ctx, s.db)
	if err != nil {
		return nil, err
	}
	clock, err := s.lookAt(ctx, t)
	if err != nil {
		return nil, t.Help(err)
	}
	s.clock.Learn(clock)
	return t, nil
}

// lookAt refuses what cannot work, and returns the server's clock.
func (s *Store) lookAt(ctx context.Context, t *tables) (clock clockPair, err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return clock, err
	}
	defer conn.Close()
	server, err := t.Ask(ctx, conn)
	if err == nil {
		err = t.Judge(server)
	}
	if err == nil {
		err = t.judge(server)
	}
	if err != nil {
		return clock, err
	}
	if t.bound != nil {
		server.RowWait += callTime // for its table
	}
	s.rowWait.Store(int64(server.RowWait))
	if clock, err = t.look(ctx, conn); err != nil {
		return clock, err
	}
	switch t.Dialect {
	case sqldialect.SQLite:
		return clock, s.file.Learn(ctx, conn, t.Schema)
	case sqldialect.MySQL:
		return clock, nil
	}
	home, err := t.whereabouts(ctx, conn)
	s.home.Store(&home)
	return clock, err
}
