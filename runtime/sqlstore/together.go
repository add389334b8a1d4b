package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

// takeMany takes locks that are free, in one statement: what the engine finds otherwise stays open.
func (s *session) takeMany(ctx context.Context, batch []*item) {
	s.send(ctx, batch, s.takeTogether, func(ctx context.Context, t *tables, e *item) {
		e.answer, e.err = s.takeAlone(ctx, t, e)
		e.ok = e.outcome == granted
	})
}

// send sends what callers share, in their turn at the pool: one alone, as it has the simpler statement. That waits for a
// row that somebody has locked, and so it is not for those who were gathered where the other statement does not: they
// would keep all who come after them waiting. Where it does wait, rows that others are at are left for later.
func (s *session) send(
	ctx context.Context, batch []*item,
	together func(context.Context, *tables, []*item), alone func(context.Context, *tables, *item),
) {
	t := s.store.known.Load() // those who ask have made sure of it
	gathered, over, err := batch[0].Gathered(), func() {}, error(nil)
	switch {
	case !gathered:
		over, err = s.rowSlot(ctx, batch[0].name)
	case t.Dialect == sqldialect.MySQL:
		var end func()
		if batch, end = s.store.turns.takeFree(batch); len(batch) == 0 {
			return
		}
		defer end()
		fallthrough
	default:
		over, err = s.slot(ctx)
	}
	if err != nil {
		fail(batch, err)
		return
	}
	defer over()
	if len(batch) > 1 || gathered && t.Dialect == sqldialect.Postgres {
		together(ctx, t, batch)
		return
	}
	alone(ctx, t, batch[0])
}

func (s *session) takeTogether(ctx context.Context, t *tables, batch []*item) {
	a := t.claims(batch)
	a["session"], a["node"], a["latest"] = s.id, s.node, batch[0].latest
	var err error
	if t.Dialect == sqldialect.MySQL {
		err = s.seizeTogether(ctx, t, batch, a)
	} else {
		err = s.takeRows(ctx, t, batch, a)
	}
	if err != nil {
		fail(batch, err)
	}
}

func (s *session) takeRows(ctx context.Context, t *tables, batch []*item, a args) error {
	byID := make(map[string]*item, len(batch))
	for _, e := range batch {
		byID[e.id] = e
	}
	sent := time.Now()
	return t.query(ctx, s.store.pool, t.takeMany, a, func(rows *sql.Rows) error {
		var id string
		var epoch, since int64
		if err := rows.Scan(&id, &epoch, &since); err != nil {
			return err
		}
		e := byID[id]
		if e == nil {
			return errors.New("a statement of the locks granted a lease that nobody asked for")
		}
		e.answer, e.ok = takenAnswer(epoch, since, e.ttl, sent), true
		return nil
	})
}

// claims are the parameters of takeMany that say who wants what, and owners those of freeMany: arrays, where there are
// some, and else lists of a length of which there are few.
func (t *tables) claims(batch []*item) args {
	switch t.Dialect {
	case sqldialect.MySQL:
		var names [][]byte
		var ids, ttls []string
		for _, e := range batch {
			names, ids, ttls = append(names, e.name), append(ids, e.id), append(ttls, decimal(e.ttl))
		}
		return args{"names": padded(names), "ids": padded(ids), "ttls": padded(ttls)}
	case sqldialect.SQLite:
		list := make(tuples, len(batch))
		for i, e := range batch {
			list[i] = []any{e.name, []byte(e.key), e.id, e.ttl}
		}
		return args{"claims": tuples(padded(list))}
	}
	var keys [][]byte
	var ttls []string
	for _, e := range batch {
		keys, ttls = append(keys, []byte(e.key)), append(ttls, decimal(e.ttl))
	}
	a := t.owners(batch)
	a["keys"], a["ttls"] = sqldialect.Array(sqldialect.Hex(keys)), sqldialect.Array(ttls)
	return a
}

func (t *tables) owners(batch []*item) args {
	var names [][]byte
	var ids []string
	var both tuples
	for _, e := range batch {
		names, ids, both = append(names, e.name), append(ids, e.id), append(both, []any{e.name, e.id})
	}
	if t.Dialect != sqldialect.Postgres {
		return args{"names": padded(names), "pairs": tuples(padded(both))}
	}
	return args{"names": sqldialect.Array(sqldialect.Hex(names)), "ids": sqldialect.Array(ids)}
}

func fail(batch []*item, err error) {
	for _, e := range batch {
		e.answer, e.ok, e.err = answer{}, false, err
	}
}
