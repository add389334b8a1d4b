package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// whereSQL tells databases apart: the moment at which the server was started, the database in it, and the table that is
// found there under the name of the locks'.
const whereSQL = `SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint::text || ' ' || oid::text,
coalesce(to_regclass('{lock}')::oid::text, '') FROM pg_database WHERE datname = current_database()`

// whereabouts are where a connection ends.
type whereabouts struct{ database, table string }

func (t *tables) whereabouts(ctx context.Context, q querier) (w whereabouts, err error) {
	rows, err := q.QueryContext(ctx, t.names.Replace(whereSQL))
	if err == nil {
		err = scanOne(rows, &w.database, &w.table)
	}
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
	if err != nil || t.name != Postgres {
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
	name, err := detect(ctx, tx)
	if err != nil || name != Postgres {
		return false, err
	}
	theirs, err := t.whereabouts(ctx, tx)
	if err != nil {
		return false, err
	}
	ours, err := t.whereabouts(ctx, s.db)
	switch {
	case err != nil:
		return false, err
	case ours.database != theirs.database:
		return false, nil
	case ours.table != theirs.table:
		return false, fmt.Errorf("%w: the transaction is in the database of the locks, but finds another table under the name of "+
			"theirs, or none; put the schema into sqlstore.Config.Table, or into the search_path of its pool", lockrt.ErrOptions)
	}
	return true, nil
}

// doubt forgets what a comparison has said if a guard finds nothing where the locks should be: the pool may lead to
// another server since a failover.
func (s *Store) doubt(err error) error {
	if errors.Is(err, lockrt.ErrLost) || s.known.Load().isMissing(err) {
		s.compared.Store(nil)
	}
	return err
}
