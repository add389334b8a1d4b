package dashboard

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	// freshFor is the least time for which an answer of the store is used.
	freshFor = time.Second
	// failedFor is the least time for which pages share an error of the store. It is short, so that they soon see the end of
	// an outage.
	failedFor = 250 * time.Millisecond
	// probeTimeout is how long a store that did not answer is given for a small question, before it is asked for more.
	probeTimeout = time.Second
	// mostKnown is how many answers are kept.
	mostKnown = 256
)

// known keeps what one store answered last to each question. All that look share it: however many tabs are open, the
// store is asked each question by one of them at a time, and for a fifth of the time at most. While the store does not
// answer, what it said last is there to be shown as such.
type known struct {
	now   func() time.Time                // on the store's clock
	probe func(ctx context.Context) error // a small question

	mu      sync.Mutex // guards all below
	answers map[string]*answer
	silent  bool      // the last question had no answer
	missed  time.Time // when the first of the questions was asked that last went without one, on the store's clock
	heard   time.Time // when one had
}

// answer is what is known about one question. Its fields are guarded by known.mu.
type answer struct {
	value   any
	no      error     // the store answered that there is no such thing
	asked   time.Time // when value or no was asked for, on the store's clock; zero: there was no answer yet
	failed  error     // why there is no newer answer; nil: there is none missing
	since   time.Time // failed: the time from which on nothing is known
	missed  time.Time // failed: when the first question was asked that the store did not answer
	partial error     // what parts of the store did not answer; nil: all that were asked did
	back    time.Time // when the store answered again after it had failed; zero: it never had to
	away    time.Duration

	until  time.Time     // ask again from then on
	flight chan struct{} // closed when the one who asks has an answer; nil while nobody asks
	stale  bool          // what is in flight was asked for before something was changed
	used   time.Time
}

// get returns a copy of what is known about a question. If the store answers, it was asked at most freshFor ago, or four times
// as long as the store took to answer, and the store has answered something within freshFor. It blocks until it has or ctx
// ends. fetch is called by one request at a time.
func (k *known) get(ctx context.Context, question string, fetch func(context.Context) (any, error)) answer {
	for {
		k.mu.Lock()
		a := k.find(question)
		a.used = time.Now()
		kept, silent := a.used.Before(a.until), k.silent
		sure := !silent && (a.failed != nil || a.used.Before(k.heard.Add(freshFor)))
		switch {
		case question == alive:
			kept = kept && (sure || a.failed != nil)
		case silent, kept && !sure:
			k.mu.Unlock()
			if copied, answers := k.verify(ctx, a, silent); !answers {
				return copied
			}
			continue
		}
		if kept {
			copied := *a
			k.mu.Unlock()
			return copied
		}
		if a.flight == nil {
			a.flight, a.stale = make(chan struct{}), false
			k.mu.Unlock()
			copied := k.ask(ctx, a, fetch)
			if copied.failed != nil && question != alive {
				k.verify(ctx, a, true) // is it the store, or this question?
			}
			return copied
		}
		flight := a.flight
		k.mu.Unlock()
		select {
		case <-flight:
		case <-ctx.Done():
			return k.unanswered(a, context.Cause(ctx))
		}
	}
}

// alive is the small question.
const alive = "alive"

// verify reports whether the store answers the small question, and if not what is known about another: pages do not show what
// an answer said that is used for long, or that another question has shown to be of the past, as if it were the present. A
// store that was silent gets a short time limit. So pages do not wait long while it stays silent, or while a dead connection
// hides that it has returned.
func (k *known) verify(ctx context.Context, a *answer, silent bool) (copied answer, answers bool) {
	proof := k.get(ctx, alive, func(ctx context.Context) (any, error) {
		if silent {
			short, cancel := context.WithTimeout(ctx, probeTimeout)
			defer cancel()
			ctx = short
		}
		return nil, k.probe(ctx)
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	copied = *a
	switch small := k.answers[alive]; {
	case proof.failed == nil || a.failed != nil:
	case small != nil && small.failed != nil:
		k.fail(a, proof.failed, k.now())
		a.until = time.Time{}
		copied = *a
	default: // the request has ended meanwhile, and others may hear more
		copied.failed, copied.since = proof.failed, a.asked
	}
	return copied, proof.failed == nil
}

// fail notes that there is no newer answer. It needs mu.
func (k *known) fail(a *answer, why error, asked time.Time) {
	if a.failed == nil {
		if a.since = a.asked; a.since.IsZero() {
			a.since = asked
		}
		a.missed = k.missed
	}
	a.failed = why
}

// find needs mu. It makes room by forgetting the answer that nobody has looked at for longest.
func (k *known) find(question string) *answer {
	if a := k.answers[question]; a != nil {
		return a
	}
	if k.answers == nil {
		k.answers = map[string]*answer{}
	}
	if len(k.answers) >= mostKnown {
		oldest := ""
		for q, a := range k.answers {
			if a.flight == nil && (oldest == "" || a.used.Before(k.answers[oldest].used)) {
				oldest = q
			}
		}
		delete(k.answers, oldest)
	}
	a := &answer{}
	k.answers[question] = a
	return a
}

// unanswered is what is known to one who could wait no longer for the answer that another has asked for.
func (k *known) unanswered(a *answer, why error) answer {
	k.mu.Lock()
	defer k.mu.Unlock()
	copied := *a
	if copied.failed == nil {
		copied.failed, copied.since = why, a.asked
		if a.asked.IsZero() {
			copied.since = k.now()
		}
	}
	return copied
}

// ask gets an answer from the store. Others wait for it, so it does not end with the request.
func (k *known) ask(ctx context.Context, a *answer, fetch func(context.Context) (any, error)) answer {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	defer func() {
		k.mu.Lock()
		close(a.flight)
		a.flight = nil
		k.mu.Unlock()
	}()
	asked, began := k.now(), time.Now()
	value, err := fetch(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.settle(a, value, err, asked, time.Since(began))
	return *a
}

// settle keeps what came of a question. It needs mu.
func (k *known) settle(a *answer, value any, err error, asked time.Time, took time.Duration) {
	now, small := time.Now(), k.answers[alive]
	a.partial = nil
	if isPartial(err) {
		a.partial, err = err, nil
	}
	before := k.silent
	if k.silent = err != nil && !isAnswer(err); k.silent {
		if !before {
			k.missed = asked
		}
		k.fail(a, err, asked)
		if a == small {
			took = min(took, probeTimeout)
		}
		a.until = now.Add(max(failedFor, 4*took))
		return
	}
	k.heard = now
	if small != nil && small.failed != nil { // the end of a silence
		for _, other := range k.answers {
			if other.failed != nil {
				other.until = time.Time{}
			}
		}
	}
	if a.failed != nil {
		a.back, a.away = k.now(), k.now().Sub(a.missed) // nobody may have looked for long before
	}
	a.value, a.no, a.asked, a.failed = value, err, asked, nil
	if a.until = now.Add(max(freshFor, 4*took)); a.stale {
		a.until = now
	}
}

// last returns what is known about a question, without asking.
func (k *known) last(question string) (a answer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.answers[question]; known != nil {
		a = *known
	}
	return a
}

// forget lets the next pages ask again: something was changed.
func (k *known) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, a := range k.answers {
		a.until, a.stale = time.Time{}, true
	}
}

// forget lets the next pages ask both stores again.
func (d *dashboard) forget() {
	d.known.forget()
	d.held.forget()
}

// isPartial reports whether an error says that parts of the store are away: what comes with it is what the others say.
func isPartial(err error) bool { return errors.As(err, new(*jobs.PartsError)) }

// isAnswer reports whether an error is what a store says that answers.
func isAnswer(err error) bool {
	for _, no := range []error{jobs.ErrUnknownJob, jobs.ErrUnknownRun, lockrt.ErrNotHeld, lockrt.ErrKey, lockrt.ErrCursor,
		jobs.ErrSearch, errors.ErrUnsupported} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}
