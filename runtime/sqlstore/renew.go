package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// renewChunk is how many leases one statement renews or reads at the most.
const renewChunk = 1000

// lease is one of those that a call is about.
type lease struct {
	key, id string
	name    []byte
	ttl     int64
}

// Renew implements lockrt.Session. The statements use the connection that the session keeps.
func (s *session) Renew(ctx context.Context, renewals []lockrt.Renewal) []error {
	leases := make([]lease, len(renewals))
	for i, r := range renewals {
		leases[i] = lease{r.Key, escaped(r.ID), rowName(s.Namespace, r.Key), micros(r.TTL)}
	}
	sent := time.Now()
	errs := s.perLease(ctx, leases, true)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, err := range errs {
		if h := s.leases[leases[i].id]; h != nil && err == nil {
			h.until = sent.Add(renewals[i].TTL)
		}
	}
	return errs
}

// Check implements lockrt.Checker.
func (s *session) Check(ctx context.Context, leases []lockrt.HeldLease) []error {
	asked := make([]lease, len(leases))
	for i, l := range leases {
		asked[i] = lease{key: l.Key, id: escaped(l.ID), name: rowName(s.Namespace, l.Key)}
	}
	return s.perLease(ctx, asked, false)
}

// perLease renews leases if renew is set, and says which of them hold their locks.
func (s *session) perLease(ctx context.Context, leases []lease, renew bool) []error {
	errs := make([]error, len(leases))
	for from := 0; from < len(leases); from += renewChunk {
		chunk := leases[from:min(from+renewChunk, len(leases))]
		got := make(chan []error, 1)
		_, err := s.calls.do(ctx, callTime, func(limit context.Context) error {
			some, err := s.renewChunk(limit, chunk, renew)
			got <- some
			return err
		})
		var some []error
		if err == nil {
			some = <-got
		}
		for i := range chunk {
			if err != nil {
				errs[from+i] = s.explain(ctx, err)
			} else {
				errs[from+i] = some[i]
			}
		}
	}
	return errs
}

func (s *session) renewChunk(ctx context.Context, leases []lease, renew bool) (errs []error, err error) {
	t, err := s.store.ready(ctx)
	if err != nil {
		return nil, err
	}
	err = s.keeping(ctx, func(q querier) error {
		for {
			if errs, err = s.renewOn(ctx, t, q, leases, renew); err == nil || !t.again(err) {
				return err
			}
			if !sleep(ctx, jitter(10*time.Millisecond)) {
				return err
			}
		}
	})
	return errs, err
}

func (s *session) renewOn(ctx context.Context, t *tables, q querier, leases []lease, renew bool) ([]error, error) {
	errs := make([]error, len(leases))
	open := make([]int, 0, len(leases))
	var done map[string]bool
	var err error
	if renew {
		if done, err = t.renewAll(ctx, q, leases); err != nil {
			return nil, err
		}
	}
	for i, l := range leases {
		if !done[string(l.name)+"\x00"+l.id] {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return errs, nil
	}
	names := make([][]byte, len(open))
	for j, i := range open {
		names[j] = leases[i].name
	}
	states, _, now, err := t.poll(ctx, q, s.id, names)
	if err != nil {
		return nil, err
	}
	for _, i := range open {
		l := leases[i]
		state, there := states[string(l.name)]
		switch {
		case !there || state.owner != l.id || state.until <= now.micros:
			s.unwanted(l.id)
			errs[i] = lockrt.ErrLost
		case state.broken != "":
			s.lose(l.id, l.key, errors.New(state.broken), "")
			errs[i] = lockrt.ErrLost
		case renew && t.name == Postgres: // its row was locked: with others it would have kept them waiting
			n, err := t.renewOne(ctx, q, l)
			if err != nil {
				return nil, err
			}
			if n == 0 {
				errs[i] = lockrt.ErrLost
			}
		}
	}
	return errs, nil
}

// renewAll renews leases and returns which ones it has, by name and id. Where the engine does not say, that is told by
// the rows: a lease that holds its lock after the statement did so before.
func (t *tables) renewAll(ctx context.Context, q querier, leases []lease) (map[string]bool, error) {
	if t.name != Postgres {
		return nil, t.renewByTTL(ctx, q, leases)
	}
	var names [][]byte
	var ids, ttls []string
	for _, l := range leases {
		names, ids, ttls = append(names, l.name), append(ids, l.id), append(ttls, decimal(l.ttl))
	}
	done := make(map[string]bool, len(leases))
	err := t.query(ctx, q, t.renew, args{
		"names": postgresArray(hexNames(names)), "ids": postgresArray(ids), "ttls": postgresArray(ttls),
	}, func(rows *sql.Rows) error {
		var name []byte
		var id string
		err := rows.Scan(&name, &id)
		done[string(name)+"\x00"+id] = true
		return err
	})
	return done, err
}

func (t *tables) renewByTTL(ctx context.Context, q querier, leases []lease) error {
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
		if _, err := t.exec(ctx, q, t.renew, args{"ttl": ttl, "names": p.names, "pairs": p.owners}); err != nil {
			return err
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
	turns, epoch        int64
	since, until        int64
}

// poll reads the states of rows, by name, and what the session is told.
func (t *tables) poll(ctx context.Context, q querier, session string, names [][]byte) (map[string]rowState, string, clockPair, error) {
	states := make(map[string]rowState, len(names))
	clock := clockPair{local: time.Now()}
	var told sql.NullString
	err := t.query(ctx, q, pollSQL, args{"names": padded(names), "session": session}, func(rows *sql.Rows) error {
		var name []byte
		var r rowState
		err := rows.Scan(&name, &r.owner, &r.node, &r.turns, &r.epoch, &r.since, &r.until, &r.broken, &clock.micros, &told)
		states[string(name)] = r
		return err
	})
	return states, told.String, clock, err
}
