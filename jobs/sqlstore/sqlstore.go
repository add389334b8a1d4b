package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
	locks "github.com/lockgen/lockgen/runtime/sqlstore"
)

// Dialect is the SQL that a database speaks, as package runtime/sqlstore has it.
type Dialect = locks.Dialect

// The dialects.
const (
	Postgres = locks.Postgres
	MySQL    = locks.MySQL
	SQLite   = locks.SQLite
)

// Config configures a [Store]. The zero value is usable.
type Config struct {
	// Namespace separates the jobs of different applications in one database. Schedulers with the same one share their
	// jobs. Up to 255 bytes. Defaults to "lock", as lockrt.Config.Namespace does.
	Namespace string
	// Dialect is the SQL that the database speaks. If it is empty, the server is asked at the first use.
	Dialect Dialect
	// Table is what the names of the tables begin with, a name or a schema and a name with a dot between; _job, _run and
	// others are added. ASCII letters, digits and underscores. Defaults to "lockgen".
	Table string
}

// maxNamespace is what the column holds.
const maxNamespace = 255

func (c Config) withDefaults() (Config, error) {
	if c.Namespace == "" {
		c.Namespace = "lock"
	}
	if c.Table == "" {
		c.Table = "lockgen"
	}
	if len(c.Namespace) > maxNamespace {
		return c, fmt.Errorf("%w: the namespace has %d bytes: use %d at most", lockrt.ErrOptions, len(c.Namespace),
			maxNamespace)
	}
	if strings.ContainsRune(c.Namespace, 0) {
		return c, fmt.Errorf("%w: the namespace %q holds a control character", lockrt.ErrOptions, c.Namespace)
	}
	return c, nil
}

// tables returns the statements of a dialect that is known.
func (c Config) tables() (*tables, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	return newTables(sqldialect.Dialect(c.Dialect), c.Table)
}

// detect asks the server for the dialect if that is not known.
func (c Config) detect(ctx context.Context, db querier) (*tables, error) {
	if c.Dialect == "" {
		found, err := sqldialect.Detect(ctx, db)
		if err != nil {
			return nil, err
		}
		c.Dialect = Dialect(found)
	}
	return c.tables()
}

// Store keeps jobs in a database. It implements jobs.Store.
type Store struct {
	db        *sql.DB
	cfg       Config
	namespace []byte
	problem   error // of the Config

	steps  chan struct{} // has an element for each transaction of schedulers under way
	calls  chan struct{} // the same, of the application's calls
	single chan struct{} // the same, of both, where there is one writer at a time
	asking chan struct{} // has an element while somebody examines the server
	known  atomic.Pointer[tables]
	file   *sqldialect.File

	completing completing
	turns      turns
	locked     lockedJobs

	swept    atomic.Int64 // when old rows were deleted last (µs of the machine's clock)
	failures atomic.Int64 // kept since old ones were deleted
}

var _ jobs.Store = (*Store)(nil)

const (
	// stepConns is how many connections the transactions of schedulers use at the same time, and callConns those of the
	// application's calls, which may wait for a row that a transaction of the application has locked. The store of locks
	// may use the same pool.
	stepConns = 4
	callConns = 4
	// callTime bounds every transaction.
	callTime = 10 * time.Second
)

// New returns a store on db, which stays the caller's. It does not contact the server. The first use does; it refuses
// unsuitable servers, missing tables and an invalid Config.
//
// The store uses up to four connections of db for the transactions of schedulers, four for those of the application's
// calls, and others for signs of life and short reads. One connection is enough, unless the application's own
// transactions take it: see [Store.PutTx].
func New(db *sql.DB, cfg Config) *Store {
	cfg, err := cfg.withDefaults()
	if db == nil {
		err = fmt.Errorf("%w: sqlstore.New was given no *sql.DB", lockrt.ErrOptions)
	}
	s := &Store{
		db: db, cfg: cfg, namespace: []byte(cfg.Namespace), problem: err, steps: make(chan struct{}, stepConns),
		calls: make(chan struct{}, callConns), single: make(chan struct{}, 1), asking: make(chan struct{}, 1),
		file: sqldialect.FileOf(db),
	}
	s.swept.Store(time.Now().UnixMicro())
	return s
}

// Parts implements jobs.Store. There is one part.
func (s *Store) Parts() int { return 1 }

// PartOf implements jobs.Store.
func (s *Store) PartOf(string) int { return 0 }

// ready returns the statements. Until it has succeeded once it examines the server and the tables.
func (s *Store) ready(ctx context.Context) (*tables, error) {
	if err := s.file.Check(); err != nil {
		return nil, err
	}
	if t := s.known.Load(); t != nil {
		return t, ctx.Err()
	}
	if s.problem != nil {
		return nil, s.problem
	}
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if t := s.known.Load(); t != nil {
		return t, ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	t, err := s.examine(limited)
	if err != nil {
		if t != nil {
			err = t.explain(ctx, err)
		}
		return nil, err
	}
	s.known.Store(t)
	return t, nil
}

func (s *Store) examine(ctx context.Context) (*tables, error) {
	t, err := s.cfg.detect(ctx, s.db)
	if err != nil {
		return nil, err
	}
	server, err := t.Ask(ctx, s.db)
	if err == nil {
		err = t.Judge(server)
	}
	if err == nil && server.StatementLog {
		err = sqldialect.Refusal("binlog_format is STATEMENT, with which the server refuses writes in READ COMMITTED; set it " +
			"to ROW")
	}
	if err != nil {
		return t, err
	}
	if strings.Contains(server.Version, "MariaDB") {
		own := *t.dialect
		own.within, own.session = mariaDBWithin, false
		t.dialect = &own
	}
	if err := t.look(ctx, s.db); err != nil || t.Dialect != sqldialect.SQLite {
		return t, err
	}
	return t, s.file.Learn(ctx, s.db, t.Schema)
}

// in says where a call failed.
func (s *Store) in(err error, format string, a ...any) error {
	where := "the database"
	if t := s.known.Load(); t != nil {
		where = t.dialect.shown
	}
	return fmt.Errorf("%s in %s: %w", fmt.Sprintf(format, a...), where, err)
}
