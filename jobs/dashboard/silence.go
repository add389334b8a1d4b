package dashboard

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// backFor is how long pages say that the store answers again.
const backFor = 30 * time.Second

// silence says that a page shows what was known once, or nothing.
type silence struct {
	Since moment // from when on nothing is known
	at    time.Time
	Known bool // something was, and is shown
	*problem
}

// comeback says that the store answers again.
type comeback struct {
	At   moment
	Away string // how long it did not
}

// ask returns what the store of the jobs says to a question, as askOf.
func ask[T any](q *request, what, question string, fetch func(context.Context) (T, error)) (T, error) {
	return askOf(q, &q.d.known, what, question, fetch)
}

// askOf returns what a store says to a question, or what it said last, for what the page calls what. The error is an
// answer that there is no such thing, or the page for a store that has never answered. The page is made as of the earliest
// of its answers. Questions may be asked at the same time.
func askOf[T any](q *request, k *known, what, question string, fetch func(context.Context) (T, error)) (T, error) {
	a := q.answer(k, question, func(ctx context.Context) (any, error) { return fetch(ctx) })
	q.mu.Lock()
	defer q.mu.Unlock()
	value, _ := a.value.(T)
	present := q.present()
	if a.partial != nil && a.failed == nil {
		q.partial = partsProblem(q.text("error", a.partial.Error()))
	}
	none := a.asOf.IsZero()
	switch {
	case errors.As(a.failed, new(*crash)):
		return value, a.failed
	case a.failed == nil:
		if !a.back.IsZero() {
			q.back = &comeback{At: present.moment(a.back), Away: rough(a.away)}
		}
		q.asOf(a)
		return value, a.no
	case a.slow && !none && q.silence == nil:
		q.late = lateProblem(what)
		q.asOf(a)
		return value, a.no
	case q.silence == nil:
		p := q.storeProblem(what, a.failed)
		if a.slow {
			p.Text = "The store was asked for " + what + " and has not answered within " + duration(storeTimeout) + " yet."
			p.Detail, p.Advice = "", "This page tries again by itself."
		}
		q.silence = &silence{at: a.since, Known: true, Since: present.moment(a.since), problem: p}
	}
	if none {
		q.silence.Known = false
		if q.never.IsZero() || a.since.Before(q.never) {
			q.never = a.since
		}
		return value, q.silence
	}
	q.asOf(a)
	return value, a.no
}

// answer gets an answer, or the last one if the page has heard that the store does not answer.
func (q *request) answer(k *known, question string, fetch func(context.Context) (any, error)) answer {
	q.mu.Lock()
	heard := q.silence
	q.mu.Unlock()
	if heard == nil {
		return k.get(q.ctx, question, fetch)
	}
	a := k.last(question)
	if a.slow = false; a.failed == nil {
		a.failed, a.since = heard, heard.at
	}
	return a
}

// asOf notes that the page shows an answer. Times in it are on the store's clock as that was set then. Where it was set between
// two answers, those in the older one look wrong.
func (q *request) asOf(a answer) {
	if a.asOf.IsZero() {
		return
	}
	if made := q.d.known.onClock(instant{q.made, q.asked}); !made.Equal(q.made) { // it was set while the page is made
		q.made, q.set = made, q.set+made.Sub(q.made)
	}
	if a.asked.local.After(q.newest) {
		q.newest, q.set = a.asked.local, a.asOf.Sub(a.asked.at)
	}
	if a.asked.local.Before(q.asked) {
		q.asked = a.asked.local
		if a.asOf.Before(q.made) {
			q.made = a.asOf
		}
	}
	q.now = q.made.Add(-q.set)
}

// present is the request at the present time, to show times.
func (q *request) present() *request {
	return &request{d: q.d, zone: q.zone, now: q.d.jobs.Now().UTC()}
}

// aside asks a question that the page can do without. A page that shows what was known does not ask; any other shows nothing
// that was known before a silence.
func (q *request) aside(k *known, what, question string, fetch func(context.Context) (any, error)) answer {
	a := k.last(question)
	if q.silence == nil {
		a = k.get(q.ctx, question, fetch)
		if errors.As(a.failed, new(*crash)) {
			q.d.cfg.Logger.LogAttrs(q.ctx, slog.LevelError, "dashboard page failed", slog.String("page", q.name),
				slog.Any("error", a.failed))
		}
		switch {
		case a.failed != nil && (!a.slow || a.asOf.IsZero()):
			a.value = nil
			return a
		case a.failed != nil:
			q.late = lateProblem(what)
		}
	}
	q.asOf(a)
	return a
}
