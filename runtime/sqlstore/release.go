package sqlstore

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// step is what is to be done with a row, nil if there is none: replace it by next, take the line leave out of its
// queue, or nothing.
type step func(r *row, now int64, lives liveness) (swap bool, next row, leave string)

// change reads a row and does what decide says, again if somebody else has changed the row in between. It waits for a
// guarded transaction of the lease that decide ends.
func (s *session) change(ctx context.Context, t *tables, name []byte, decide step) error {
	over, err := s.rowSlot(ctx, name)
	if err != nil {
		return err
	}
	defer over()
	for conflicts := 0; ; conflicts++ {
		done, err := s.tryChange(ctx, t, name, decide)
		if err == nil && done || err != nil && !t.Again(err) {
			return err
		}
		if !pace.Sleep(ctx, pace.Jitter(min(time.Duration(conflicts+1)*time.Millisecond, 20*time.Millisecond))) {
			return errors.Join(errConflict, err)
		}
	}
}

func (s *session) tryChange(ctx context.Context, t *tables, name []byte, decide step) (bool, error) {
	rows, clock, err := t.read(ctx, s.store.pool, name)
	if err != nil {
		return false, err
	}
	if len(rows) == 0 { // there was nothing to tell the clock
		if _, clock, err = t.schema(ctx, s.store.pool); err != nil {
			return false, err
		}
	}
	s.store.clock.Learn(clock)
	var found *row
	var lives liveness
	if r, ok := rows[string(name)]; ok {
		found = &r
		if lives, err = s.livesOf(ctx, t, r, clock.Micros); err != nil {
			return false, err
		}
	}
	swap, next, leave := decide(found, clock.Micros, lives)
	defer s.stalls.took(time.Now(), s.cfg.Liveness)
	switch {
	case leave != "":
		n, err := t.exec(ctx, s.store.pool, t.leave, args{"name": name, "line": leave})
		return n > 0, err
	case swap:
		end, _ := ctx.Deadline()
		done, err := t.swap(ctx, s.store.pool, next, s.store.clock.Latest(end), found.swappingTo(next, false))
		if done {
			s.tell(next, clock)
			s.ringFor(ctx, found, next)
		}
		return done, err
	}
	return true, nil
}

// Release implements lockrt.Session.
func (s *session) Release(ctx context.Context, rel lockrt.Release) error {
	id := escaped(rel.ID)
	found := s.lookForGuards(ctx)
	left, err := s.calls.do(ctx, callTime, func(limit context.Context) error {
		done, err := s.release(limit, rel, id)
		switch {
		case err == nil && !done:
			err = lockrt.ErrLost
			fallthrough
		case err == nil:
			s.unwanted(id)
		}
		return err
	})
	guards := found()
	switch {
	case err == nil || errors.Is(err, lockrt.ErrLost):
		return err
	case rel.Keep == 0: // the lease is over for its owner, so that it goes on whatever the answer would have been
		s.drop(id)
		s.abandon(id, rel.Key, brokenPatience)
	case !left:
		s.drop(id)
	}
	return guardedBy(s.explain(ctx, err), guards)
}

// brokenPatience is how long it is tried to give back a lease that nobody renews.
const brokenPatience = time.Minute

// release ends a lease. It repeats what had no answer, and knows that a lease which is gone after that was released.
func (s *session) release(ctx context.Context, rel lockrt.Release, id string) (released bool, err error) {
	t, err := s.store.ready(ctx)
	if err != nil {
		return false, err
	}
	unanswered := false
	var said error
	for backoff := 5 * time.Millisecond; ; backoff = min(2*backoff, 500*time.Millisecond) {
		released, err = s.releaseOnce(ctx, t, rel, id)
		switch {
		case err == nil:
			return released || unanswered, nil
		case !t.retryable(err):
			return false, err
		case isContext(err) && said != nil:
			err = said
		}
		said = err
		unanswered = unanswered || t.mayHaveRun(err)
		if !pace.Sleep(ctx, pace.Jitter(backoff)) {
			return false, err
		}
	}
}

func (s *session) releaseOnce(ctx context.Context, t *tables, rel lockrt.Release, id string) (released bool, err error) {
	e := &item{id: id, name: rowName(s.Namespace, rel.Key)}
	mayFree := rel.Keep == 0 && kindOf(rel.Mode, rel.Permits).exclusive()
	looks := mayFree && s.behind(id, e.name) // first: the statement that frees would find a queue, as a rule
	if mayFree && !looks {
		if released, err = s.free(ctx, t, e); released || err != nil {
			return released, err
		}
	}
	for {
		unqueued := false
		err = s.change(ctx, t, e.name, func(r *row, now int64, lives liveness) (bool, row, string) {
			if r == nil {
				return false, row{}, ""
			}
			next, ok := r.release(id, micros(rel.Keep), now, lives)
			if unqueued = looks && ok && len(r.queue) == 0; unqueued {
				return false, row{}, ""
			}
			released = ok
			return ok, next, ""
		})
		if err != nil || !unqueued {
			return released, err
		}
		looks = false
		if released, err = s.free(ctx, t, e); released || err != nil { // which waits for no disk in PostgreSQL
			return released, err
		}
	}
}

// free releases a lock without a queue.
func (s *session) free(ctx context.Context, t *tables, e *item) (bool, error) {
	if t.freeMany != "" {
		err := s.frees.Do(ctx, e)
		if err == nil {
			err = e.err
		}
		return err == nil && e.ok, err
	}
	over, err := s.rowSlot(ctx, e.name)
	if err != nil {
		return false, err
	}
	defer over()
	return s.freeAlone(ctx, t, e)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
