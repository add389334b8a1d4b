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
	t, over, err := s.connected(ctx)
	if err != nil {
		fail(batch, err)
		return
	}
	defer over()
	if len(batch) > 1 {
		s.takeTogether(ctx, t, batch)
		return
	}
	e := batch[0]
	e.answer, e.err = s.takeAlone(ctx, t, e)
	e.ok = e.outcome == granted
}

func (s *session) takeAlone(ctx context.Context, t *tables, e *item) (a answer, err error) {
	sent := time.Now()
	err = t.query(ctx, s.store.db, t.take, args{
		"name": e.name, "key": []byte(e.key), "id": e.id, "session": s.id, "node": s.node, "ttl": e.ttl, "latest": e.latest,
	}, func(rows *sql.Rows) error {
		var epoch, since int64
		err := rows.Scan(&epoch, &since)
		a = takenAnswer(epoch, since, e.ttl, sent)
		return err
	})
	return a, err
}

func (s *session) takeTogether(ctx context.Context, t *tables, batch []*item) {
	byID := make(map[string]*item, len(batch))
	var names, keys [][]byte
	var ids, ttls []string
	for _, e := range batch {
		byID[e.id] = e
		names, keys = append(names, e.name), append(keys, []byte(e.key))
		ids, ttls = append(ids, e.id), append(ttls, decimal(e.ttl))
	}
	sent := time.Now()
	err := t.query(ctx, s.store.db, t.takeMany, args{
		"names": sqldialect.Array(sqldialect.Hex(names)), "keys": sqldialect.Array(sqldialect.Hex(keys)), "ids": sqldialect.Array(ids),
		"ttls": sqldialect.Array(ttls), "session": s.id, "node": s.node, "latest": batch[0].latest,
	}, func(rows *sql.Rows) error {
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
	if err != nil {
		fail(batch, err)
	}
}

// freeMany releases locks that nobody waits for, in one statement: what the engine finds otherwise stays open.
func (s *session) freeMany(ctx context.Context, batch []*item) {
	t, over, err := s.connected(ctx)
	if err != nil {
		fail(batch, err)
		return
	}
	defer over()
	if len(batch) > 1 {
		s.freeTogether(ctx, t, batch)
		return
	}
	e := batch[0]
	e.ok, e.err = s.freeAlone(ctx, t, e)
}

func (s *session) freeAlone(ctx context.Context, t *tables, e *item) (bool, error) {
	n, err := t.exec(ctx, s.store.db, t.free, args{"name": e.name, "id": e.id})
	return n > 0, err
}

func (s *session) freeTogether(ctx context.Context, t *tables, batch []*item) {
	byID := make(map[string]*item, len(batch))
	var names [][]byte
	var ids []string
	for _, e := range batch {
		byID[e.id] = e
		names, ids = append(names, e.name), append(ids, e.id)
	}
	err := t.query(ctx, s.store.db, t.freeMany, args{
		"names": sqldialect.Array(sqldialect.Hex(names)), "ids": sqldialect.Array(ids),
	}, func(rows *sql.Rows) error {
		var id, setting string
		if err := rows.Scan(&id, &setting); err != nil {
			return err
		}
		if e := byID[id]; e != nil {
			e.ok = true
		}
		return nil
	})
	if err != nil {
		fail(batch, err)
	}
}

func fail(batch []*item, err error) {
	for _, e := range batch {
		e.answer, e.ok, e.err = answer{}, false, err
	}
}
