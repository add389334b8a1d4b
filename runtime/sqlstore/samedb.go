package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/sqldialect"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// whereSQL tells databases apart: the moment at which the server was started, the database in it, and the table that is
// found there under the name of the locks'.
const whereSQL = `SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint::text || ' ' || oid::text AS place,
  coalesce(to_regclass('{lock}')::oid::text, '') AS tab FROM pg_database WHERE datname = current_database()`

// whereabouts are where a connection ends.
type whereabouts struct{ database, table string }

func (t *tables) whereabouts(ctx context.Context, q querier) (w whereabouts, err error) {
	err = sqldialect.One(ctx, q, t.names.Replace(whereSQL), &w.database, &w.table)
	return w, err
}

// otherPool is a pool that was compared with the store's.
type otherPool struct {
	db   *sql.DB
	same bool
}

// keepsLocksIn reports whether the store's tables are in the database of a transaction, and that is one whose rows can
// guard it. s may be nil, for locks that are kept elsewhere.
func (s *Store) keepsLocksIn(ctx context.Context, db Beginner, tx *sql.Tx) (bool, error) {
	if s == nil {
		return false, nil
	}
	t, err := s.ready(ctx)
	if err != nil || t.Dialect != sqldialect.Postgres {
		return false, err
	}
	pool, _ := db.(*sql.DB)
	if pool == s.db {
		return true, nil
	}
	if known := s.compared.Load(); known != nil && pool != nil && known.db == pool {
		return known.same, nil
	}
	same, err := s.compare(ctx, t, tx)
	if err == nil && pool != nil {
		s.compared.Store(&otherPool{pool, same})
	}
	return same, err
}

// compare asks both databases who they are.
func (s *Store) compare(ctx context.Context, t *tables, tx *sql.Tx) (bool, error) {
	name, err := sqldialect.Detect(ctx, tx)
	if err != nil || name != sqldialect.Postgres {
		return false, err
	}
	theirs, err := t.whereabouts(ctx, tx)
	if err != nil {
		return false, err
	}
	err = s.isHome(ctx, t, theirs)
	if errors.Is(err, ErrUnsupported) {
		return false, nil
	}
	return err == nil, err
}

// homeTime bounds the question where the locks are. A pool may have no connection to spare for it.
const homeTime = time.Second

// isHome returns an error unless a transaction is where the locks are. That is asked again if it is elsewhere: the
// store's pool leads to another server after a failover.
func (s *Store) isHome(ctx context.Context, t *tables, place whereabouts) error {
	if home := s.home.Load(); home != nil && *home == place {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, homeTime)
	defer cancel()
	home, err := t.whereabouts(limited, s.db)
	for err != nil && t.retryable(err) && pace.Sleep(limited, 5*time.Millisecond) { // the pool may have dead connections
		home, err = t.whereabouts(limited, s.db)
	}
	switch {
	case err != nil:
		s.known.Store(nil) // so that it is asked before the next lock is taken, when no transaction is open
		return fmt.Errorf("find out whether the transaction is in the database of the locks: %w", explain(ctx, err))
	case home.database != place.database:
		s.home.Store(&home)
		return fmt.Errorf("%w: it is in another database than the lock; begin it in the one with the tables %s, or use "+
			"package fence", ErrUnsupported, t.Names)
	case home.table != place.table:
		return fmt.Errorf("%w: the transaction is in the database of the locks, but finds another table under the name of "+
			"theirs, or none; put the schema into sqlstore.Config.Table, or into the search_path of its pool", lockrt.ErrOptions)
	}
	s.home.Store(&home)
	return nil
}

// doubt forgets what a comparison has said if a guard finds nothing where the locks should be: the pool may lead to
// another server since a failover.
func (s *Store) doubt(err error) error {
	if errors.Is(err, lockrt.ErrLost) || errors.Is(err, ErrUnsupported) {
		s.compared.Store(nil)
	}
	return err
}
