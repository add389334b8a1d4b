package sqlstore

import (
	"context"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/sqldialect"
)

// asking is one question, which may take several statements.
type asking struct {
	s *session
	t *tables
	q *request

	latest     int64
	unanswered int64 // latest, if a statement that takes or joins had no answer
	conflicts  int
	version    int64 // of the row that could not be changed
	unchanged  int   // how often it was found like that
}

// conflict waits a little where somebody else has changed the row, longer each time.
func (a *asking) conflict(ctx context.Context) bool {
	a.conflicts++
	pause := pace.Jitter(min(time.Duration(a.conflicts)*time.Millisecond, 20*time.Millisecond))
	return !a.q.left.Load() && pace.Sleep(ctx, pause)
}

// sent remembers a statement whose answer did not come.
func (a *asking) sent(err error) error {
	if err != nil && a.t.mayHaveRun(err) {
		a.unanswered = max(a.unanswered, a.latest)
	}
	return err
}

// once takes the lock in one statement, or reads its row, decides, and writes what was decided. done is false if
// somebody else has changed the row meanwhile.
func (a *asking) once(ctx context.Context) (answer, bool, error) {
	if !a.q.slow && a.q.kind.exclusive() && !a.s.isWatched(a.q.name) {
		a.q.slow = true
		if got, err := a.fast(ctx); err != nil || got.outcome == granted {
			a.q.slow = err == nil
			return got, err == nil, err
		}
	}
	over, err := a.s.rowSlot(ctx, a.q.name)
	if err != nil {
		return answer{}, false, err
	}
	defer over()
	if a.q.left.Load() {
		return answer{}, false, context.Canceled
	}
	return a.onRow(ctx)
}

// fast takes the lock if it is free and has no queue.
func (a *asking) fast(ctx context.Context) (got answer, err error) {
	e := a.entry()
	if err = a.s.takes.Do(ctx, e); err == nil {
		got, err = e.answer, e.err
	}
	switch {
	case a.sent(err) != nil && a.unanswered != 0:
		a.unanswered = max(a.unanswered, e.latest)
	case got.outcome == granted:
		a.s.store.clock.Learn(got.clock)
	}
	return got, err
}

func (a *asking) entry() *item {
	return &item{id: a.q.id, name: a.q.name, key: a.q.req.Key, ttl: micros(a.q.req.TTL), latest: a.latest}
}

// onRow reads the row, decides and writes.
func (a *asking) onRow(ctx context.Context) (answer, bool, error) {
	db := a.s.store.pool
	rows, clock, err := a.t.read(ctx, db, a.q.name)
	if err != nil {
		return answer{}, false, err
	}
	r, there := rows[string(a.q.name)]
	if !there {
		return a.first(ctx)
	}
	a.s.store.clock.Learn(clock)
	var lives liveness
	if !r.held(clock.Micros) || r.shared() {
		if lives, err = a.s.livesOf(ctx, a.t, r, clock.Micros); err != nil {
			return answer{}, false, err
		}
	}
	c := a.claim(clock)
	out, w, next, over := r.ask(c, clock.Micros, lives)
	if out == full {
		return answer{}, false, sqldialect.Refusal("%d processes stand in the queue of the lock, which is as many as it takes", maxQueue)
	}
	done, err := a.write(ctx, w, r, next, c, clock, over)
	if !done && err == nil && over && a.heldBack(r) {
		out, next, done = busy, r, true
		if c.wait && r.find(c.id) < 0 {
			next.queue = append(next.queue, c.place)
			n, failed := a.t.exec(ctx, db, a.t.joinOver, a.joinArgs(c))
			done, err = n > 0, a.sent(failed)
		}
	}
	return a.answerOf(out, next, clock), done, err
}

func (a *asking) claim(clock clockPair) claim {
	return claim{wait: a.q.req.Wait > 0, place: place{
		id: a.q.id, ttl: micros(a.q.req.TTL), live: clock.Micros + micros(a.s.cfg.Liveness), session: a.s.id, node: a.s.node,
		kind: a.q.kind,
	}}
}

// first makes the row of a lock that has none.
func (a *asking) first(ctx context.Context) (answer, bool, error) {
	if a.q.kind.exclusive() {
		got, err := a.s.plant(ctx, a.t, a.entry())
		if a.sent(err) != nil || got.outcome == granted {
			return got, err == nil, err
		}
	}
	version, clock, err := a.t.schema(ctx, a.s.store.pool) // for the clock: there was no row to tell it
	if err == nil {
		err = a.t.VersionError(version, schemaVersion)
	}
	if err != nil {
		return answer{}, false, err
	}
	a.s.store.clock.Learn(clock)
	if a.q.kind.exclusive() {
		return answer{}, false, nil // somebody else has made the row, or the clock was set
	}
	r := row{}.grant(a.claim(clock).place, clock.Micros)
	_, err = a.t.exec(ctx, a.s.store.pool, a.t.insert, args{
		"name": a.q.name, "key": []byte(a.q.req.Key), "since": r.since, "epoch": r.epoch, "owner": r.owner, "session": r.session,
		"node": r.node, "until": r.until, "holders": holdersText(r.holders), "latest": min(a.latest, r.until),
	})
	return answer{}, false, a.sent(err) // the row says who has it
}

// write does what was decided. It reports whether that was possible.
func (a *asking) write(
	ctx context.Context, w write, r, next row, c claim, clock clockPair, over bool,
) (bool, error) {
	db := a.s.store.pool
	if a.q.left.Load() {
		return false, context.Canceled // what was decided is of no use, and would have to be taken back
	}
	defer a.s.stalls.took(time.Now(), a.s.cfg.Liveness)
	switch w {
	case join:
		text := a.t.join
		if !c.kind.exclusive() {
			text = a.t.joinShare
		}
		n, err := a.t.exec(ctx, db, text, a.joinArgs(c))
		if n > 0 {
			a.s.ringReaders(r)
		}
		return n > 0, a.sent(err)
	case change:
		latest := a.latest
		if next.held(clock.Micros) {
			latest = min(latest, next.until) // a lease that is over by then is of no use
		}
		done, err := a.t.swap(ctx, db, next, latest, r.swappingTo(next, over))
		if done && next.turns > r.turns && next.owner != c.id { // it was given to others
			a.s.calls.Start(func() { a.s.ringFor(context.Background(), &r, next) })
		}
		return done, a.sent(err)
	}
	return true, nil
}

func (a *asking) joinArgs(c claim) args {
	return args{"name": a.q.name, "line": c.line(), "id": a.q.id, "mark": mark(a.q.id), "latest": a.latest}
}

// heldBack reports whether the row of a lease that is over was found unchanged again and again and could not be taken
// all the same: its holder is in a guarded transaction.
func (a *asking) heldBack(r row) bool {
	if r.version != a.version {
		a.version, a.unchanged = r.version, 0
	}
	a.unchanged++
	return a.t.joinOver != "" && a.unchanged > 2
}

// answerOf tells what a row means for the request.
func (a *asking) answerOf(out outcome, r row, clock clockPair) answer {
	now := clock.Micros
	got := answer{
		outcome: out, epoch: uint64(r.epoch), since: r.since, until: r.until, turns: r.turns, holder: r.holderNode(now),
		place: r.find(a.q.id) + 1, clock: clock, guarded: out == busy && !r.taken(now),
	}
	if got.guarded {
		got.holder = r.holderNode(r.end() - 1)
	}
	if at := r.holder(a.q.id, now); r.shared() && at >= 0 {
		h := r.holders[at]
		got.epoch, got.since, got.until, got.slot = uint64(h.epoch), h.since, h.until, h.slot
	} else if r.shared() {
		got.until, got.holders = r.roomAt(now), r.together(now)
	}
	return got
}

// takenAnswer is that of a lock that was free when it was asked for at the local time sent.
func takenAnswer(epoch, since, ttl int64, sent time.Time) answer {
	return answer{
		outcome: granted, epoch: uint64(epoch), since: since, until: since + ttl,
		clock: clockPair{Local: sent, Micros: since},
	}
}
