package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/sqldialect"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Break implements lockrt.Breaker. The mark and what the holder's process is told are written in one step.
func (s *session) Break(ctx context.Context, b lockrt.Breaking) error {
	done := make(chan bool, 1)
	_, err := s.calls.do(ctx, callTime, func(limit context.Context) error {
		// What is left of the time says who is in the way.
		limit, cancel := context.WithTimeout(limit, callTime-guardsTime)
		defer cancel()
		ok, err := s.breakLease(limit, b)
		done <- ok
		return err
	})
	if err != nil {
		return s.explain(ctx, err)
	}
	if !<-done {
		return lockrt.ErrNotHeld
	}
	return nil
}

// breakLease reports whether that lease held the lock. What was broken by a statement that had no answer did.
func (s *session) breakLease(ctx context.Context, b lockrt.Breaking) (bool, error) {
	t, err := s.store.ready(ctx)
	if err != nil {
		return false, err
	}
	over, err := s.rowSlot(ctx, rowName(s.Namespace, b.Key))
	if err != nil {
		return false, err
	}
	defer over()
	unanswered := false
	for {
		done, ok, err := s.breakOnce(ctx, t, b)
		switch {
		case err == nil && done:
			return ok || unanswered, nil
		case err != nil && !t.retryable(err):
			return false, err
		case err != nil:
			unanswered = unanswered || t.mayHaveRun(err)
		}
		if !pace.Sleep(ctx, pace.Jitter(askBackoff)) {
			if err == nil {
				err = errConflict
			}
			return false, guardedBy(err, s.guards(t, guardsTime-askSilence))
		}
	}
}

func (s *session) breakOnce(ctx context.Context, t *tables, b lockrt.Breaking) (done, ok bool, err error) {
	name := rowName(s.Namespace, b.Key)
	rows, clock, err := t.read(ctx, s.store.pool, name)
	r, there := rows[string(name)]
	if err != nil || !there {
		return err == nil, false, err
	}
	lives, err := s.livesOf(ctx, t, r, clock.Micros)
	if err != nil {
		return false, false, err
	}
	reason := shown(fmt.Sprintf("broken by %s: %s", s.Node, b.Reason), 1000)
	w, next, ok := r.breaking(escaped(b.ID), int64(b.Fence.Epoch()), b.Force, reason, clock.Micros, lives)
	if w == nothing {
		return true, ok, nil
	}
	a := t.swapArgs(next, clock.Micros+micros(callTime))
	holder := r.session
	if at := r.holder(escaped(b.ID), clock.Micros); at >= 0 {
		holder = r.holders[at].session
	}
	a["holder"], a["line"] = holder, toldLine(escaped(b.ID), b.Key, reason)
	switch {
	case b.ID == "":
		done, err = t.swap(ctx, s.store.pool, next, clock.Micros+micros(callTime), r.swappingTo(next, false))
	case t.mark == "":
		done, err = s.breakInTransaction(ctx, t, a)
	default:
		text := t.mark
		if b.Force && !r.goesOn(next) {
			text = t.force
		}
		var n int64
		n, err = t.exec(ctx, s.store.pool, text, a)
		done = n > 0
	}
	if done && err == nil {
		s.ringFor(ctx, &r, next)
		s.ringTold(ctx, holder)
	}
	return done, ok, err
}

// breakInTransaction is for SQLite, which changes one table in a statement.
func (s *session) breakInTransaction(ctx context.Context, t *tables, a args) (done bool, err error) {
	err = sqldialect.Immediate(ctx, s.store.db, func(conn *sql.Conn) error {
		n, err := t.exec(ctx, conn, t.dialect.swap, a)
		if err != nil || n == 0 {
			return err
		}
		done = true
		_, err = t.exec(ctx, conn, t.tell, a)
		return err
	})
	return done && err == nil, err
}
