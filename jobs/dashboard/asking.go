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
// the request is over, or the page has too little time. Others wait for the answer, so the question does not end with the
// request. It ends with the time of the page. The caller holds mu.
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
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !k.hasTime(a, ends, limit):
		return errNoTime
	default:
		k.fetch(ctx, a, min(time.Until(ends), limit), fetch)
		return nil
	}
}

// putOffFor is how long a question waits for a page with enough time. After that any page asks it: how long it takes now is not
// known, and pages may never have more.
const putOffFor = 2 * storeTimeout

// hasTime reports whether a page has enough time to ask: as much as the question took last, or another if it was never asked.
// Otherwise it puts the question off. A question in flight needs no time.
func (k *known) hasTime(a *answer, ends time.Time, limit time.Duration) bool {
	if a.flight != nil {
		return true
	}
	left, needs := min(time.Until(ends), limit), cmp.Or(a.took, k.took, limit/10)
	if left >= min(needs, nearly(limit)) {
		return true
	}
	now := time.Now()
	if a.putOff.IsZero() {
		a.putOff = now
	}
	return left > 0 && now.Sub(a.putOff) >= putOffFor
}

// nearly is a time that is as good as the whole.
func nearly(whole time.Duration) time.Duration { return whole * 9 / 10 }

// fetch asks the store.
func (k *known) fetch(ctx context.Context, a *answer, left time.Duration, fetch func(context.Context) (any, error)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), left)
	defer cancel()
	a.flight, a.stale, a.putOff = make(chan struct{}), false, time.Time{}
	defer func() {
		close(a.flight)
		a.flight = nil
	}()
	var (
		value any
		err   error
	)
	asked := instant{k.now(), time.Now()}
	func() {
		k.mu.Unlock()
		defer k.mu.Lock()
		err = caught(func() (err error) { value, err = fetch(ctx); return err })
	}()
	asked.at = k.onClock(asked)      // it may have been learnt with the answer that the clock was set
	if errors.As(err, new(*crash)) { // that says nothing of the store
		k.crashed(a, err, asked)
		return
	}
	a.partial = nil
	if isPartial(err) {
		a.partial, err = err, nil
	}
	if err == nil || isAnswer(err) {
		k.answered(a, value, err, asked)
		return
	}
	slow := ctx.Err() != nil
	k.unanswered(a, err, slow, asked)
	if a == &k.pulse && (!slow || left >= nearly(k.telling())) {
		k.silent = true
	}
}

// askedFor is how long the store was asked. If that seems longer than a question may take, the process has stood still.
func askedFor(asked instant, now time.Time) time.Duration {
	return min(now.Sub(asked.local), storeTimeout+2*answerGrace)
}

// answered keeps an answer.
func (k *known) answered(a *answer, value any, no error, asked instant) {
	now := time.Now()
	k.hear(now)
	a.value, a.no, a.asked = value, no, asked
	a.failed, a.slow, a.missed, a.misses = nil, false, instant{}, 0
	a.took = askedFor(asked, now)
	if a == &k.pulse || k.pulse.asked.at.IsZero() {
		k.took = a.took
	}
	rest := 4 * a.took
	owed := a.rests(asked.local, a.took)
	if a.until = now.Add(max(freshFor, rest) + min(rest, owed/4)); a.stale || a.took < now.Sub(asked.local) { // it pays bit by bit
		a.until = now
	}
}

// mostOwed is the most that a question owes, and the longest that it may have to rest yet when it is asked early.
const mostOwed = 4 * storeTimeout

// rests lets a question rest that was asked then, so that the store is asked for a fifth of the time. It returns what is owed: as
// much as it was asked before it had rested.
func (a *answer) rests(asked time.Time, took time.Duration) (owed time.Duration) {
	owed = min(max(a.rested.Sub(asked), 0), mostOwed)
	a.rested = asked.Add(owed + 5*took)
	return owed
}

// hear notes that the store answers. After a silence all is asked again soon. Otherwise it was the question that had no answer,
// and one that has failed once is asked again soon. What owes much was asked early before, in vain.
func (k *known) hear(now time.Time) {
	k.heard = now
	if !k.doubt {
		return
	}
	for _, a := range k.answers {
		if (k.silent || a.misses == 1) && a.rested.Sub(now) <= mostOwed {
			a.until = time.Time{}
		}
		if k.silent && a.failed != nil {
			a.took = 0 // a silence says nothing of how long it takes
		}
	}
	if k.silent {
		if now.Sub(k.unheard) < 2*backFor { // or nobody has asked for long before
			k.back, k.away = instant{k.now(), now}, now.Sub(k.missed.local)
		}
	}
	k.doubt, k.silent = false, false
	k.pulse.failed, k.pulse.misses, k.pulse.until = nil, 0, time.Time{}
}

// unanswered keeps why there is no answer.
func (k *known) unanswered(a *answer, why error, slow bool, asked instant) {
	now := time.Now()
	took, owed := askedFor(asked, now), time.Duration(0)
	if a == &k.pulse {
		a.rested = now.Add(k.probeRest(took))
	} else {
		owed = a.rests(asked.local, took)
		a.rested = later(a.rested, now.Add(failedFor))
	}
	a.until = a.rested
	if a.failed == nil {
		a.missed = asked
	}
	a.failed, a.slow = why, slow
	if a != &k.pulse {
		a.took = took * 3 / 2 // and more, for all that is known
	}
	if a.misses++; owed > 0 {
		a.misses++
	}
	if k.unheard = now; !k.doubt {
		k.doubt, k.missed = true, asked
	}
}

// crashed lets what crashed rest. If it was the small question, the others find out whether the store answers.
func (k *known) crashed(a *answer, why error, asked instant) {
	now := time.Now()
	a.rests(asked.local, askedFor(asked, now))
	a.rested = later(a.rested, now.Add(failedFor))
	a.until = a.rested
	a.failed, a.slow, a.misses = why, false, 0
	if a == &k.pulse {
		k.silent = false
		if k.fault != nil {
			k.fault(why)
		}
	}
	if a.stale {
		a.until = now
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
