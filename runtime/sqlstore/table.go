package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/lockgen/lockgen/runtime/internal/storeclock"
)

// schemaRow is the name of the row that says which version the tables have. No lock has a name without a NUL.
var schemaRow = []byte("schema")

// schemaVersion is the version of the tables that this code works with. Columns that are added do not change it.
const schemaVersion = 2

type clockPair = storeclock.Pair

// read returns the rows that are there, by name, and the server's clock.
func (t *tables) read(ctx context.Context, q querier, names ...[]byte) (rows map[string]row, clock clockPair, err error) {
	rows = make(map[string]row, len(names))
	clock.Local = time.Now()
	err = t.query(ctx, q, readSQL, args{"names": padded(names)}, func(result *sql.Rows) error {
		r, now, err := scanRow(result)
		if err != nil {
			return err
		}
		clock.Micros = now
		rows[string(r.name)] = r
		return nil
	})
	return rows, clock, err
}

func scanRow(result *sql.Rows) (r row, now int64, err error) {
	err = result.Scan(&r.name, &r.key, &r.version, &r.epoch, &r.turns, &r.owner, &r.session, &r.node, &r.broken, &r.since, &r.until,
		&r.queueAsRead, &r.holdersAsRead, &now)
	if err == nil {
		r.queue, err = parseQueue(r.queueAsRead)
	}
	if err == nil {
		r.holders, err = parseHolders(r.holdersAsRead)
	}
	return r, now, err
}

// swapping is what a change does about guarded transactions.
type swapping int

const (
	soon      swapping = iota // it is not made while one is open
	patiently                 // it waits for their end
	beside                    // it takes from none what it rests on, and is made beside them
)

// swappingTo is how a row becomes another one. over says that the last lease has run out.
func (r *row) swappingTo(next row, over bool) swapping {
	switch {
	case over:
		return soon
	case r.goesOn(next):
		return beside
	}
	return patiently
}

// swap writes next in place of the row that was read, if nothing has changed that since and the server's clock is not
// past latest. way says what it does about guarded transactions.
func (t *tables) swap(ctx context.Context, q querier, next row, latest int64, way swapping) (bool, error) {
	text := map[swapping]string{soon: t.dialect.swap, patiently: t.patient, beside: t.beside}[way]
	n, err := t.exec(ctx, q, text, t.swapArgs(next, latest))
	return n > 0, err
}

func (t *tables) swapArgs(next row, latest int64) args {
	return args{
		"name": next.name, "version": next.version, "epoch": next.epoch, "turns": next.turns, "owner": next.owner,
		"session": next.session, "node": next.node, "broken": next.broken, "since": next.since, "until": next.until,
		"queue": queueText(next.queue), "holders": holdersText(next.holders), "latest": latest,
	}
}

// lives returns until when sessions count as live.
func (t *tables) lives(ctx context.Context, q querier, sessions []string) (map[string]int64, error) {
	live := make(map[string]int64, len(sessions))
	err := t.query(ctx, q, livesSQL, args{"sessions": padded(sessions)}, func(rows *sql.Rows) error {
		var session string
		var until int64
		if err := rows.Scan(&session, &until); err != nil {
			return err
		}
		live[session] = until
		return nil
	})
	return live, err
}

// schema returns the version of the tables and the server's clock.
func (t *tables) schema(ctx context.Context, q querier) (version int64, clock clockPair, err error) {
	clock.Local = time.Now()
	found := false
	err = t.query(ctx, q, schemaSQL, args{"schema": schemaRow}, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(&version, &clock.Micros)
	})
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return version, clock, err
}
