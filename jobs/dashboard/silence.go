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

// ask returns what the store of the jobs says to a question, as askOf.
func ask[T any](q *request, what, question string, fetch func(context.Context) (T, error)) (T, error) {
	return askOf(q, &q.d.known, what, question, fetch)
}

// askOf returns what a store says to a question, or what it said last, for what the page calls what. The error is an
// answer that there is no such thing, or the page for a store that has never answered. The page is made as of the earliest
// of its answers.
func askOf[T any](q *request, k *known, what, question string, fetch func(context.Context) (T, error)) (T, error) {
	a := k.last(question)
	if q.silence == nil {
		a = k.get(q.ctx, question, func(ctx context.Context) (any, error) { return fetch(ctx) })
	} else if a.failed == nil { // the page has heard that the store does not answer
		a.failed, a.since = q.silence, q.silence.at
	}
	value, _ := a.value.(T)
	present := q.present()
	if a.partial != nil && a.failed == nil {
		q.partial = partsProblem(q.text("error", a.partial.Error()))
	}
	switch {
	case a.failed == nil:
		if !a.back.IsZero() && present.now.Sub(a.back) < backFor {
			q.back = &comeback{At: present.moment(a.back), Away: rough(a.away)}
		}
		q.asOf(a.asked)
		return value, a.no
	case q.silence == nil:
		q.silence = &silence{at: a.since, Since: present.moment(a.since), problem: q.storeProblem(what, a.failed)}
	}
	if q.silence.Known = !a.asked.IsZero(); !q.silence.Known {
		q.asOf(a.since)
		return value, q.silence
	}
	q.asOf(a.asked)
	return value, a.no
}

// asOf notes that the page shows an answer to what was asked then.
func (q *request) asOf(asked time.Time) {
	if !asked.IsZero() && asked.Before(q.now) {
		q.now = asked
	}
}

// present is the request at the present time.
func (q *request) present() *request {
	p := *q
	p.now = q.d.jobs.Now().UTC()
	return &p
}

// aside asks a question that the page can do without. A page that shows what was known does not ask; any other shows nothing
// that was known.
func (q *request) aside(k *known, question string, fetch func(context.Context) (any, error)) answer {
	a := k.last(question)
	if q.silence == nil {
		if a = k.get(q.ctx, question, fetch); a.failed != nil {
			a.value = nil
			return a
		}
	}
	q.asOf(a.asked)
	return a
}
