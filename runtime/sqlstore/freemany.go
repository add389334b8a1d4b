package sqlstore

import (
	"context"
	"database/sql"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

// freeMany releases locks that nobody waits for, in one statement: what the engine finds otherwise stays open.
func (s *session) freeMany(ctx context.Context, batch []*item) {
	s.send(ctx, batch, s.freeTogether, func(ctx context.Context, t *tables, e *item) { e.ok, e.err = s.freeAlone(ctx, t, e) })
}

func (s *session) freeAlone(ctx context.Context, t *tables, e *item) (bool, error) {
	n, err := t.exec(ctx, s.store.pool, t.free, args{"name": e.name, "id": e.id})
	return n > 0, err
}

func (s *session) freeTogether(ctx context.Context, t *tables, batch []*item) {
	var err error
	if t.Dialect == sqldialect.MySQL {
		err = s.freeOwned(ctx, t, batch)
	} else {
		err = s.freeRows(ctx, t, batch)
	}
	if err != nil {
		fail(batch, err)
	}
}

func (s *session) freeRows(ctx context.Context, t *tables, batch []*item) error {
	byName := make(map[string]*item, len(batch))
	for _, e := range batch {
		byName[string(e.name)] = e
	}
	return t.query(ctx, s.store.pool, t.freeMany, t.owners(batch), func(rows *sql.Rows) error {
		var name []byte
		if err := rows.Scan(&name, new(string)); err != nil {
			return err
		}
		if e := byName[string(name)]; e != nil {
			e.ok = true
		}
		return nil
	})
}

// freeOwned is freeRows for an engine that says how many locks it has freed, and not which. A lease that has its lock
// when it is looked for, and does not afterwards, counts as released: its owner was done with it before.
func (s *session) freeOwned(ctx context.Context, t *tables, batch []*item) error {
	owned, err := s.ownersAmong(ctx, t, batch)
	if err != nil || len(owned) == 0 {
		return err
	}
	n, err := t.exec(ctx, s.store.pool, t.freeMany, t.owners(owned))
	if err != nil {
		return err
	}
	for _, e := range owned {
		e.ok = true
	}
	if n == int64(len(owned)) {
		return nil
	}
	kept, err := s.ownersAmong(ctx, t, owned)
	if err != nil {
		return errNoAnswer // whatever the server said: locks were freed
	}
	for _, e := range kept {
		e.ok = false
	}
	return nil
}

// ownersAmong returns those whose leases have their locks.
func (s *session) ownersAmong(ctx context.Context, t *tables, batch []*item) (owned []*item, err error) {
	var names [][]byte
	for _, e := range batch {
		names = append(names, e.name)
	}
	rows, now, err := t.read(ctx, s.store.pool, names...)
	for _, e := range batch {
		if r := rows[string(e.name)]; err == nil && r.owned(e.id, now.Micros) {
			owned = append(owned, e)
		}
	}
	return owned, err
}
