package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

func (s *session) takeAlone(ctx context.Context, t *tables, e *item) (a answer, err error) {
	if t.seize != "" {
		return s.seize(ctx, t, t.seize, e)
	}
	sent := time.Now()
	err = t.query(ctx, s.store.pool, t.take, s.claim(e), func(rows *sql.Rows) error {
		var epoch, since int64
		err := rows.Scan(new(string), &epoch, &since)
		a = takenAnswer(epoch, since, e.ttl, sent)
		return err
	})
	return a, err
}

func (s *session) claim(e *item) args {
	return args{
		"name": e.name, "key": []byte(e.key), "id": e.id, "session": s.id, "node": s.node, "ttl": e.ttl, "latest": e.latest,
	}
}

// plant takes a lock that had no row.
func (s *session) plant(ctx context.Context, t *tables, e *item) (a answer, err error) {
	if t.plant == "" {
		return s.takeAlone(ctx, t, e)
	}
	if a, err = s.seize(ctx, t, t.plant, e); err != nil && t.IsDuplicate(err) {
		return answer{}, nil // it has one now
	}
	return a, err
}

// seize runs a statement that says no more than whether it has taken the lock.
func (s *session) seize(ctx context.Context, t *tables, text string, e *item) (a answer, err error) {
	claim, sent := s.claim(e), time.Now()
	done, clock, err := t.atClock(ctx, s.store.pool, text, claim)
	if done > 0 && err == nil {
		a = takenAnswer(clock, clock, e.ttl, sent)
	}
	return a, err
}

// atClock is exec for a statement that writes the clock, and returns that too if it has changed anything.
func (t *tables) atClock(ctx context.Context, q querier, template string, a args) (changed, clock int64, err error) {
	changed, clock, err = t.execAt(ctx, q, template, a)
	if clock <= 0 {
		changed = 0 // something in between keeps the clock to itself: the row will tell
	}
	return changed, clock, err
}

// execAt is exec for a statement that writes the clock. Where something in between keeps that to itself it returns 0.
func (t *tables) execAt(ctx context.Context, q querier, template string, a args) (changed, clock int64, err error) {
	clock = clockMicros()
	a["now"] = clock // of an engine that is told the time
	text, values := t.build(template, a)
	result, err := q.ExecContext(ctx, text, values...)
	if err != nil {
		return 0, 0, err
	}
	changed, err = result.RowsAffected()
	if err == nil && t.Dialect == sqldialect.MySQL && changed > 0 {
		clock, err = result.LastInsertId()
	}
	return changed, max(clock, 0), err
}

// seizeTogether is takeRows for an engine that says how many locks it has taken, and not which.
func (s *session) seizeTogether(ctx context.Context, t *tables, batch []*item, a args) error {
	sent := time.Now()
	done, clock, err := t.atClock(ctx, s.store.pool, t.takeMany, a)
	if err != nil || done == 0 {
		return err
	}
	var names [][]byte
	for _, e := range batch {
		e.answer, e.ok = takenAnswer(clock, clock, e.ttl, sent), true
		names = append(names, e.name)
	}
	if done == int64(len(batch)) {
		return nil
	}
	rows, now, err := t.read(ctx, s.store.pool, names...)
	for _, e := range batch {
		r := rows[string(e.name)]
		if e.answer, e.ok = (answer{}), err == nil && r.owned(e.id, now.Micros); e.ok {
			e.answer = answer{outcome: granted, epoch: uint64(r.epoch), since: r.since, until: r.until, clock: now}
		}
	}
	return err
}
