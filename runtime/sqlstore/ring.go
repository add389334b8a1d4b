package sqlstore

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/internal/combine"
	"github.com/lockgen/lockgen/internal/sqldialect"
)

const (
	// ringTime bounds a ring, which is only a hint.
	ringTime = time.Second
	// ringBatch is how many rings one statement sends, ringPayload how long one may be; the server takes 8,000 bytes.
	ringBatch, ringPayload = 100, 7000
)

// ringSQL sends rings. It stands alone: a commit that changes something and notifies holds a lock of the whole server
// until its flush is done. So it also comes after the commit that it tells of.
const ringSQL = `SELECT set_config('synchronous_commit', 'off', true), pg_notify(r.channel, r.payload)
FROM unnest(:channels::text[], :payloads::text[]) AS r(channel, payload)`

// ring is a hint to a session.
type ring struct {
	combine.Ticket
	session string
	what    string
	err     error // it was not sent
}

// ringer sends the rings of concurrent callers together.
func (s *session) ringer(c *combine.Combiner[*ring]) {
	c.Alone, c.Lanes, c.Most, c.Time = 1, 1, ringBatch, ringTime
	c.Start = s.calls.Start
	c.Send = s.sendRings
}

// sendRings sends each session what there is for it. What fails is not tried again: those who wait poll, too.
func (s *session) sendRings(ctx context.Context, batch []*ring) bool {
	payloads := make(map[string]string)
	for _, r := range batch {
		known := payloads[r.session]
		if !strings.Contains("\n"+known+"\n", "\n"+r.what+"\n") && len(known) < ringPayload {
			payloads[r.session] = strings.TrimPrefix(known+"\n"+r.what, "\n")
		}
	}
	var channels, texts []string
	for session, text := range payloads {
		channels, texts = append(channels, channel(session)), append(texts, text)
	}
	ctx, cancel := context.WithTimeout(ctx, ringTime)
	defer cancel()
	t, err := s.store.ready(ctx)
	if err == nil {
		a := args{"channels": sqldialect.Array(channels), "payloads": sqldialect.Array(texts)}
		err = t.query(ctx, s.store.pool, ringSQL, a, func(*sql.Rows) error { return nil })
	}
	for _, r := range batch {
		r.err = err
	}
	return err == nil
}

// ringFor tells the process that a change of a row is good news for, and returns when the server has it. One of this
// session's own is told without the server.
func (s *session) ringFor(ctx context.Context, before *row, after row) {
	switch {
	case after.shared():
		s.ringHolders(ctx, before, after)
		if before != nil && len(after.queue) > 0 && after.roomAt(0) < before.roomAt(0) {
			s.ringSession(ctx, after.queue[0].session, after.name) // it waits for another moment from here on
		}
	case after.owner != "" && (before == nil || after.owner != before.owner):
		s.ringSession(ctx, after.session, after.name)
	case after.owner == "" && len(after.queue) > 0 && (before == nil || before.owner != ""):
		s.ringSession(ctx, after.queue[0].session, after.name) // it waits for another moment from here on
	}
}

// ringHolders tells the processes of those who were granted a lock together.
func (s *session) ringHolders(ctx context.Context, before *row, after row) {
	rung := make(map[string]bool)
	for _, h := range after.holders {
		known := before != nil && slices.ContainsFunc(before.holders, func(b holder) bool { return b.id == h.id })
		if !known && h.session != "" && !rung[h.session] {
			rung[h.session] = true
			s.ringSession(ctx, h.session, after.name)
		}
	}
}

// ringReaders lets the processes that read under a lock look for somebody who waits behind them, if nobody did.
func (s *session) ringReaders(r row) {
	if !r.shared() || len(r.queue) > 0 {
		return
	}
	rung := make(map[string]bool)
	for _, h := range r.holders {
		if h.kind.read && !rung[h.session] && strings.HasSuffix(h.session, hearing) {
			rung[h.session] = true
			s.calls.Start(func() { s.ringTold(context.Background(), h.session) })
		}
	}
}

func (s *session) ringSession(ctx context.Context, session string, name []byte) {
	switch {
	case session == s.id:
		s.pollNow([]string{hashOf(name)})
	case strings.HasSuffix(session, hearing):
		ctx, cancel := context.WithTimeout(ctx, ringTime)
		defer cancel()
		_ = s.rings.Do(ctx, &ring{session: session, what: hashOf(name)})
	}
}

// ringTold tells a process that one of its leases was broken.
func (s *session) ringTold(ctx context.Context, session string) {
	if strings.HasSuffix(session, hearing) {
		ctx, cancel := context.WithTimeout(ctx, ringTime)
		defer cancel()
		_ = s.rings.Do(ctx, &ring{session: session, what: ringTold})
	}
}
