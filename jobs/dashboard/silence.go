package dashboard

import (
	"context"
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

// ask returns what the store says to a question, or what it said last, for what the page calls what. The error is an
// answer that there is no such thing, or the page for a store that has never answered. Once a page shows what was
// known, it is made as of then.
func ask[T any](q *request, what, question string, fetch func(context.Context) (T, error)) (T, error) {
	a := q.d.known.last(question)
	if q.silence == nil {
		a = q.d.known.get(q.ctx, question, func(ctx context.Context) (any, error) { return fetch(ctx) })
	} else if a.failed == nil { // the page has heard that the store does not answer
		a.failed, a.since = q.silence, q.silence.at
	}
	value, _ := a.value.(T)
	if q.silence == nil { // it may have taken long
		q.now = q.d.jobs.Now().UTC()
	}
	if a.partial != nil && a.failed == nil {
		q.partial = partsProblem(q.text("error", a.partial.Error()))
	}
	switch {
	case a.failed == nil:
		if !a.back.IsZero() && q.now.Sub(a.back) < backFor {
			q.back = &comeback{At: q.moment(a.back), Away: rough(a.away)}
		}
		return value, a.no
	case q.silence == nil:
		q.silence = &silence{at: a.since, Since: q.moment(a.since), problem: q.storeProblem(what, a.failed)}
	}
	if q.silence.Known = !a.asked.IsZero(); !q.silence.Known {
		return value, q.silence
	}
	if a.asked.Before(q.now) {
		q.now = a.asked
	}
	return value, a.no
}

// aside asks a question that the page can do without. A page that shows what was known does not ask.
func (q *request) aside(question string, fetch func(context.Context) (any, error)) answer {
	if q.silence != nil {
		return q.d.known.last(question)
	}
	return q.d.known.get(q.ctx, question, fetch)
}
