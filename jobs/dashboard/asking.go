package dashboard

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// failedFor is the least time for which pages share an error of the store. It is short, so that they soon see the end of an
// outage.
const failedFor = 250 * time.Millisecond

// pageEnd is the key of the time in a context at which that of the page is over. The context itself may end before, with
// the request.
type pageEnd struct{}

// endOfPage is until when a page may ask.
func endOfPage(ctx context.Context) time.Time {
	if ends, ok := ctx.Value(pageEnd{}).(time.Time); ok {
		return ends
	}
	return time.Now().Add(storeTimeout)
}

// ask gets an answer from the store, or waits for that of the one who asks already. It returns an error if it has done neither:
// the request or the time of the page is over, or there is less of it than the question took last, or another if it was never
// asked. Others wait for the answer, so the question does not end with the request. It ends with the time of the page. The
// caller holds mu.
func (k *known) ask(ctx context.Context, ends time.Time, a *answer, limit time.Duration,
	fetch func(context.Context) (any, error)) error {
	if flight := a.flight; flight != nil {
		k.mu.Unlock()
		defer k.mu.Lock()
		select {
		case <-flight:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	left, needs := min(time.Until(ends), limit), cmp.Or(a.took, k.took, limit/10)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case left < min(needs, nearly(limit)):
		return errNoTime
	default:
		return k.fetch(ctx, a, left, fetch)
	}
}

// nearly is a time that is as good as the whole.
func nearly(whole time.Duration) time.Duration { return whole * 9 / 10 }

// fetch asks the store.
func (k *known) fetch(ctx context.Context, a *answer, left time.Duration, fetch func(context.Context) (any, error)) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), left)
	defer cancel()
	a.flight, a.stale = make(chan struct{}), false
	defer func() {
		close(a.flight)
		a.flight = nil
	}()
	var value any
	asked, began := k.now(), time.Now()
	func() {
		k.mu.Unlock()
		defer k.mu.Lock()
		err = caught(func() (err error) { value, err = fetch(ctx); return err })
	}()
	if errors.As(err, new(*crash)) {
		return err // that says nothing of the store
	}
	a.partial = nil
	if isPartial(err) {
		a.partial, err = err, nil
	}
	if err == nil || isAnswer(err) {
		k.answered(a, value, err, asked, began)
		return nil
	}
	slow := ctx.Err() != nil
	k.unanswered(a, err, slow, asked, began)
	if a == &k.pulse && (!slow || left >= nearly(k.telling())) {
		k.silent = true
	}
	return nil
}

// answered keeps an answer.
func (k *known) answered(a *answer, value any, no error, asked, began time.Time) {
	now := time.Now()
	k.hear(now)
	a.value, a.no, a.asked = value, no, asked
	a.failed, a.slow, a.missed, a.misses = nil, false, time.Time{}, 0
	a.took = now.Sub(began)
	if a == &k.pulse || k.pulse.asked.IsZero() {
		k.took = a.took
	}
	a.rested = later(a.rested, now.Add(4*a.took))
	if a.until = now.Add(max(freshFor, 4*a.took)); a.stale {
		a.until = now
	}
}

// hear notes that the store answers. After a silence all is asked again soon. Otherwise it was the question that had no answer,
// and one that has failed once is asked again soon.
func (k *known) hear(now time.Time) {
	k.heard = now
	if !k.doubt {
		return
	}
	for _, a := range k.answers {
		if k.silent || a.misses == 1 {
			a.until = time.Time{}
		}
	}
	if k.silent {
		if end := k.now(); end.Sub(k.unheard) < 2*backFor { // or nobody has asked for long before
			k.back, k.away = end, end.Sub(k.missed)
		}
	}
	k.doubt, k.silent = false, false
	k.pulse.failed, k.pulse.misses, k.pulse.until = nil, 0, time.Time{}
}

// unanswered keeps why there is no answer. What was asked again before the store had rested is made up for.
func (k *known) unanswered(a *answer, why error, slow bool, asked, began time.Time) {
	now := time.Now()
	took, owed := now.Sub(began), max(0, a.rested.Sub(began))
	rest := max(failedFor, 4*took+owed)
	if a == &k.pulse {
		rest = k.probeRest(took)
	}
	a.until = now.Add(rest)
	a.rested = a.until
	if a.failed == nil {
		a.missed = asked
	}
	a.failed, a.slow, a.took = why, slow, took*3/2 // and more, for all that is known
	if a.misses++; owed > 0 {
		a.misses++
	}
	if k.unheard = k.now(); !k.doubt {
		k.doubt, k.missed = true, asked
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
