package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

// renewAll renews leases and returns which ones it has, by name and id. Where the engine does not say, that is told by
// the rows: a lease that holds its lock after the statement did so before.
func (t *tables) renewAll(ctx context.Context, q querier, leases []lease) (map[string]bool, error) {
	done := make(map[string]bool, len(leases))
	if t.Dialect != sqldialect.Postgres {
		n, err := t.renewByTTL(ctx, q, leases)
		for _, l := range leases {
			done[l.named()] = n == int64(len(leases))
		}
		return done, err
	}
	var names [][]byte
	var ids, ttls []string
	for _, l := range leases {
		names, ids, ttls = append(names, l.name), append(ids, l.id), append(ttls, decimal(l.ttl))
	}
	err := t.query(ctx, q, t.renew, args{
		"names": sqldialect.Array(sqldialect.Hex(names)), "ids": sqldialect.Array(ids), "ttls": sqldialect.Array(ttls),
	}, func(rows *sql.Rows) error {
		var name []byte
		var id string
		err := rows.Scan(&name, &id)
		done[string(name)+"\x00"+id] = true
		return err
	})
	return done, err
}

// renewByTTL renews leases and returns how many.
func (t *tables) renewByTTL(ctx context.Context, q querier, leases []lease) (renewed int64, err error) {
	type part struct {
		names  [][]byte
		owners pairs
	}
	parts := make(map[int64]*part)
	for _, l := range leases {
		p := parts[l.ttl]
		if p == nil {
			p = new(part)
			parts[l.ttl] = p
		}
		p.names, p.owners = append(p.names, l.name), append(p.owners, [2]any{l.name, l.id})
	}
	for ttl, p := range parts {
		n, err := t.exec(ctx, q, t.renew, args{"ttl": ttl, "names": p.names, "pairs": p.owners})
		if err != nil {
			return 0, err
		}
		renewed += n
	}
	return renewed, nil
}

// renewShares renews leases that share their locks, one after another, and adds those which it has to done.
func (t *tables) renewShares(ctx context.Context, q querier, leases []lease, done map[string]bool) error {
	for _, l := range leases {
		n, err := t.exec(ctx, q, t.renewShare, args{"name": l.name, "mark": holderMark(l.id), "ttl": l.ttl})
		if err != nil {
			return err
		}
		done[l.named()] = n > 0
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
