package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

// renewed has, by name and id, the leases that a statement may have renewed: certainly, or if they last until then, on
// the server's clock. It leaves out those of which that is not known.
type renewed map[string]int64

const certainly = -1

// renewAlone renews leases that hold their locks alone, and adds them to done.
func (t *tables) renewAlone(ctx context.Context, q querier, leases []lease, done renewed) error {
	if len(leases) == 0 {
		return nil
	}
	if t.Dialect != sqldialect.Postgres {
		return t.renewByTTL(ctx, q, leases, done)
	}
	var names [][]byte
	var ids, ttls []string
	for _, l := range leases {
		names, ids, ttls = append(names, l.name), append(ids, l.id), append(ttls, decimal(l.ttl))
	}
	return t.query(ctx, q, t.renew, args{
		"names": sqldialect.Array(sqldialect.Hex(names)), "ids": sqldialect.Array(ids), "ttls": sqldialect.Array(ttls),
	}, func(rows *sql.Rows) error {
		var name []byte
		var id string
		err := rows.Scan(&name, &id)
		done[string(name)+"\x00"+id] = certainly
		return err
	})
}

// renewByTTL is renewAlone for an engine that says how many leases it has renewed, and not which.
func (t *tables) renewByTTL(ctx context.Context, q querier, leases []lease, done renewed) error {
	parts := make(map[int64][]lease)
	for _, l := range leases {
		parts[l.ttl] = append(parts[l.ttl], l)
	}
	for ttl, part := range parts {
		var names [][]byte
		var owners tuples
		for _, l := range part {
			names, owners = append(names, l.name), append(owners, []any{l.name, l.id})
		}
		n, clock, err := t.execAt(ctx, q, t.renew, args{"ttl": ttl, "names": padded(names), "pairs": tuples(padded(owners))})
		if err != nil {
			return err
		}
		for _, l := range part {
			switch {
			case n == int64(len(part)):
				done[l.named()] = certainly
			case n > 0 && clock > 0:
				done[l.named()] = clock + ttl
			}
		}
	}
	return nil
}

// renewShares renews leases that share their locks, one after another, and adds them to done.
func (t *tables) renewShares(ctx context.Context, q querier, text string, leases []lease, done renewed) error {
	for _, l := range leases {
		n, err := t.exec(ctx, q, text, args{"name": l.name, "mark": holderMark(l.id), "ttl": l.ttl})
		if err != nil {
			return err
		}
		if n > 0 {
			done[l.named()] = certainly
		}
	}
	return nil
}

func (t *tables) renewOne(ctx context.Context, q querier, l lease) (int64, error) {
	return t.exec(ctx, q, renewOneSQL, args{"name": l.name, "id": l.id, "ttl": l.ttl})
}

// rowState is what a poll reads of a row.
type rowState struct {
	owner, node, broken string
	holders             string // as the table has them
	turns, epoch        int64
	since, until        int64
}

// row is the state as a row, without its queue.
func (state rowState) row() (row, error) {
	holders, err := parseHolders(state.holders)
	return row{
		epoch: state.epoch, turns: state.turns, owner: state.owner, node: state.node, broken: state.broken,
		since: state.since, until: state.until, holders: holders,
	}, err
}

// poll reads the states of rows, by name, and what the session is told.
func (t *tables) poll(
	ctx context.Context, q querier, text string, a args, names [][]byte,
) (map[string]rowState, string, clockPair, error) {
	states := make(map[string]rowState, len(names))
	clock := clockPair{Local: time.Now()}
	var told sql.NullString
	a["names"] = padded(names)
	err := t.query(ctx, q, text, a, func(rows *sql.Rows) error {
		var name []byte
		var r rowState
		err := rows.Scan(&name, &r.owner, &r.node, &r.turns, &r.epoch, &r.since, &r.until, &r.broken, &r.holders, &clock.Micros,
			&told)
		states[string(name)] = r
		return err
	})
	return states, told.String, clock, err
}
