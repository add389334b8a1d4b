package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/lockgen/lockgen/jobs"
)

// turns is how far each session has been told of orphans and one-off jobs where there are more than one reply has. Those
// that no node takes must not keep the others from being told.
type turns struct {
	mu sync.Mutex
	of map[string]turn
}

// turn has the last ones that a session was told of.
type turn struct {
	orphan string // ID of the run
	at     int64  // time of the one-off job, µs
	oneOff string // and its ID
}

func (t *turns) get(session string) turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[session]
}

func (t *turns) set(session string, last turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last == (turn{}) {
		delete(t.of, session)
		return
	}
	if t.of == nil {
		t.of = make(map[string]turn)
	}
	t.of[session] = last
}

// orphans reads runs of sessions that are dead: all, or if they are too many the next ones by ID.
func (s *Store) orphans(ctx context.Context, me []byte, now int64, last *turn) (all []jobs.InFlight, err error) {
	const text = `SELECT r.id, r.owner, r.body, r.completed FROM {run} r
LEFT JOIN {node} n ON n.namespace = r.namespace AND n.session = r.owner
WHERE r.namespace = ? AND r.owner <> ? AND (n.alive IS NULL OR n.alive <= ?)`
	all, err = s.flights(ctx, text+` LIMIT ?`, s.namespace, me, now, replySize+1)
	if err != nil || len(all) <= replySize {
		last.orphan = ""
		return all, err
	}
	const next = text + ` AND r.id > ? ORDER BY r.id LIMIT ?`
	all, err = s.flights(ctx, next, s.namespace, me, now, []byte(last.orphan), replySize)
	if last.orphan = ""; err != nil {
		return nil, err
	}
	if len(all) == replySize { // else they are the last ones
		last.orphan = all[replySize-1].Run.ID
	}
	return all, nil
}

// due reads one-off jobs whose time is up to then: all, or if they are too many the first ones, and the next ones of the
// rest.
func (s *Store) due(ctx context.Context, until int64, last *turn) ([]jobs.OneOff, error) {
	all, err := s.waiting(ctx, until, replySize+1)
	if err != nil || len(all) <= replySize {
		last.at, last.oneOff = 0, ""
		return all, err
	}
	const half = replySize / 2
	all = all[:half]
	first := all[half-1]
	if at := micros(first.At); cmp.Or(cmp.Compare(last.at, at), cmp.Compare(last.oneOff, first.ID)) < 0 {
		last.at, last.oneOff = at, first.ID
	}
	rest, err := s.waitingAfter(ctx, last.at, last.oneOff, until, half)
	if last.at, last.oneOff = 0, ""; len(rest) == half { // else they are the last ones
		next := rest[half-1]
		last.at, last.oneOff = micros(next.At), next.ID
	}
	return slices.Concat(all, rest), err
}
