package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"slices"

	"github.com/lockgen/lockgen/jobs"
)

// replySize is how many orphans, and how many one-off jobs, one reply has at most.
const replySize = 2000

// Heartbeat implements jobs.Store. A stamp has a heartbeat's mark, its time, and a fingerprint of the pauses.
func (s *Store) Heartbeat(ctx context.Context, b jobs.Heartbeat) (jobs.HeartbeatReply, error) {
	reply, err := s.heartbeat(ctx, b)
	if err != nil {
		return jobs.HeartbeatReply{}, s.in(err, "give a sign of life")
	}
	s.sweep(ctx)
	return reply, nil
}

func (s *Store) heartbeat(ctx context.Context, b jobs.Heartbeat) (reply jobs.HeartbeatReply, err error) {
	last, own, err := s.extend(ctx, b, &reply)
	if err != nil {
		return reply, err
	}
	pauses, err := s.fingerprint(ctx)
	if err != nil {
		return reply, err
	}
	told := ""
	if b.Stamp != "" {
		var known mark
		var at int64
		_, _ = fmt.Sscan(b.Stamp, &known.Life, &known.Beats, &at, &told) // it is of our own making
		// A session that was silent for long is over: others have its runs, and have forgotten it.
		over := reply.Now.Sub(fromMicros(at)) >= sessionRetention
		reply.Lost = !over && (last.Life != known.Life || last.Beats < known.Beats)
	}
	reply.Stamp = fmt.Sprint(own.Life, " ", own.Beats, " ", micros(reply.Now), " ", pauses)
	if reply.Lost || pauses != told {
		if reply.Pauses, err = s.pauses(ctx); err != nil {
			return reply, err
		}
	}
	return reply, s.tell(ctx, b, &reply)
}

// mark is what a session's row has of its heartbeats: Life is another one when the row has been made anew. It counts them,
// because the server's clock may be set back.
type mark struct {
	Life  string `json:"life,omitempty"`
	Beats int64  `json:"beats,omitempty"`
}

// next is the mark of the heartbeat after that one.
func (m mark) next() mark {
	if m.Life == "" {
		m.Life = rand.Text()
	}
	return mark{m.Life, m.Beats + 1}
}

// nodeRow is the body of a session's row.
type nodeRow struct {
	jobs.Node
	mark
}

// extend writes the heartbeat of a session. It returns the mark of the one before, and its own.
func (s *Store) extend(ctx context.Context, b jobs.Heartbeat, reply *jobs.HeartbeatReply) (last, own mark, err error) {
	t, err := s.ready(ctx)
	if err != nil {
		return last, own, err
	}
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	session := []byte(b.Session)
	err = t.query(limited, s.db, `SELECT body FROM {node} WHERE namespace = ? AND session = ? AND beat > 0`,
		[]any{s.namespace, session}, func(rows *sql.Rows) error {
			var body string
			err := rows.Scan(&body)
			if err == nil {
				last, err = read[mark]("node "+b.Session, body)
			}
			return err
		})
	if err != nil {
		return last, own, t.explain(ctx, err)
	}
	now, err := t.clock(limited, s.db)
	if err != nil {
		return last, own, t.explain(ctx, err)
	}
	b.Node.Heartbeat, reply.Now = now, now
	leave, err := s.enter(ctx, t, nil)
	if err != nil {
		return last, own, err
	}
	defer leave()
	own = last.next()
	row := []any{s.namespace, session, micros(now.Add(b.Lease)), micros(now), encode(nodeRow{b.Node, own})}
	err = t.alone(limited, s.db, soonLocks, func(q querier) error {
		return t.upsert(limited, q, nodeTable, nodeTable.columns[2:], [][]any{row})
	})
	if t.IsLockTimeout(err) {
		err = fmt.Errorf("%w: %w", errLockedRow, err)
	}
	return last, own, t.explain(ctx, err)
}

// fingerprint changes with each pause and each resume.
func (s *Store) fingerprint(ctx context.Context) (text string, err error) {
	const query = `SELECT count(*), coalesce(max(switched), 0), coalesce(sum(switched % 1000003), 0) FROM {job}
WHERE namespace = ? AND switched > 0`
	err = s.read(ctx, query, []any{s.namespace}, func(rows *sql.Rows) error {
		var n, top, sum int64
		err := rows.Scan(&n, &top, &sum)
		text = fmt.Sprint(n, ".", top, ".", sum)
		return err
	})
	return text, err
}

func (s *Store) pauses(ctx context.Context) (all []jobs.PauseState, err error) {
	const query = `SELECT name, switched, paused FROM {job} WHERE namespace = ? AND switched > 0 ORDER BY name`
	err = s.read(ctx, query, []any{s.namespace}, func(rows *sql.Rows) error {
		var name string
		var r jobRow
		if err := rows.Scan(&name, &r.switched, &r.paused); err != nil {
			return err
		}
		j, err := r.read(name)
		if err == nil {
			all = append(all, jobs.PauseState{Job: name, Version: r.switched, Pause: j.Paused})
		}
		return err
	})
	return all, err
}

// tell reads what a session is to know.
func (s *Store) tell(ctx context.Context, b jobs.Heartbeat, reply *jobs.HeartbeatReply) (err error) {
	me, now := []byte(b.Session), micros(reply.Now)
	const peers = `SELECT session FROM {node} WHERE namespace = ? AND beat >= ? AND beat > 0`
	if err := s.read(ctx, peers, []any{s.namespace, micros(reply.Now.Add(-b.Lease))}, func(rows *sql.Rows) error {
		var session string
		err := rows.Scan(&session)
		reply.Peers = append(reply.Peers, session)
		return err
	}); err != nil {
		return err
	}
	slices.Sort(reply.Peers)
	const held = `SELECT count(*) FROM {run} WHERE namespace = ? AND owner = ?`
	err = s.read(ctx, held, []any{s.namespace, me}, func(rows *sql.Rows) error { return rows.Scan(&reply.Held) })
	if err != nil {
		return err
	}
	last := s.turns.get(b.Session)
	if reply.Orphans, err = s.orphans(ctx, me, now, &last); err != nil {
		return err
	}
	slices.SortFunc(reply.Orphans, func(a, b jobs.InFlight) int { return a.Run.Tick.Compare(b.Run.Tick) })
	if err := s.notices(ctx, me, reply); err != nil {
		return err
	}
	if reply.Over, err = s.over(ctx, b.Waiting); err != nil {
		return err
	}
	if reply.Due, err = s.due(ctx, micros(reply.Now.Add(b.Horizon)), &last); err == nil {
		s.turns.set(b.Session, last)
	}
	return err
}

// over returns those of some one-off jobs that do not wait.
func (s *Store) over(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	t, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	waits := make(map[string]bool, len(ids))
	const text = `SELECT id FROM {oneoff} WHERE namespace = ? AND past = 0 AND id IN `
	if err := t.selectIn(limited, s.db, text, s.namespace, ids, "", func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		waits[id] = true
		return err
	}); err != nil {
		return nil, t.explain(ctx, err)
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return waits[id] }), nil
}

// notices reads those for the session, and those for whoever has a run that it has.
func (s *Store) notices(ctx context.Context, me []byte, reply *jobs.HeartbeatReply) error {
	const text = `SELECT n.run, n.body FROM {notice} n WHERE n.namespace = ? AND n.owner = ?
UNION ALL SELECT n.run, n.body FROM {notice} n JOIN {run} r ON r.namespace = n.namespace AND r.id = n.run
WHERE n.namespace = ? AND n.owner = ? AND r.owner = ?`
	return s.read(ctx, text, []any{s.namespace, me, s.namespace, []byte{}, me}, func(rows *sql.Rows) error {
		var run, body string
		if err := rows.Scan(&run, &body); err != nil {
			return err
		}
		n, err := read[jobs.Notice]("the notice for run "+run, body)
		reply.Notices = append(reply.Notices, n)
		return err
	})
}

// Leave implements jobs.Store.
func (s *Store) Leave(ctx context.Context, session string) error {
	t, err := s.ready(ctx)
	if err == nil {
		s.turns.set(session, turn{})
		err = t.explain(ctx, t.alone(ctx, s.db, soonLocks, func(q querier) error {
			_, err := t.remove(ctx, q, nodeTable, s.namespace, []string{session}, "")
			return err
		}))
	}
	if err != nil {
		return s.in(err, "end a session")
	}
	return nil
}

// Nodes implements jobs.Store.
func (s *Store) Nodes(ctx context.Context) (nodes []jobs.Node, err error) {
	now, err := s.now(ctx)
	if err == nil {
		const text = `SELECT session, body FROM {node} WHERE namespace = ? AND beat >= ? AND beat > 0`
		err = s.read(ctx, text, []any{s.namespace, micros(now.Add(-jobs.NodeRetention))}, func(rows *sql.Rows) error {
			var session, body string
			if err := rows.Scan(&session, &body); err != nil {
				return err
			}
			n, err := read[jobs.Node]("node "+session, body)
			nodes = append(nodes, n)
			return err
		})
	}
	if err != nil {
		return nil, s.in(err, "list the nodes")
	}
	slices.SortFunc(nodes, jobs.Node.Compare)
	return nodes, nil
}
