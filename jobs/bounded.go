package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// boundedStore is a store of which every call ends with its context, whatever the client does underneath: one of
// go-redis, for example, does not look at deadlines unless it is told to. A call that is given up goes on in the
// background until the client ends it, and may still reach the store: as with any answer that was lost. What it was
// given is its own from then on, so elements that callers go on working with are copied.
//
// Of a store of several parts, what is read from all of them ends within storeTimeout: by then those that are there
// have answered. A call that breaks the contract of a Store has failed, see broken.go.
type boundedStore struct {
	Store
	errors *asker
}

func newBoundedStore(s Store) boundedStore { return boundedStore{s, &asker{store: "job store"}} }

// answerGrace is what a call has, after the end of its context, to say itself what has happened.
const answerGrace = 50 * time.Millisecond

// bounded makes a call that ends with ctx.
func bounded[T any](ctx context.Context, s boundedStore, call func() T, failed func(error) T) T {
	done := make(chan T, 1)
	go func() { // ends when the client does
		var answer T
		returned := false
		defer func() {
			if !returned {
				answer = failed(s.broken(recover()))
			}
			done <- answer
		}()
		answer, returned = call(), true
	}()
	select {
	case answer := <-done:
		return answer
	case <-ctx.Done():
		timer := time.NewTimer(answerGrace)
		defer timer.Stop()
		select {
		case answer := <-done:
			return answer
		case <-timer.C:
			return failed(s.silent(ctx.Err()))
		}
	}
}

// each makes a call that answers for each of n elements. errOf is where an answer has its error.
func each[T any](ctx context.Context, s boundedStore, n int, call func() []T, errOf func(*T) *error) []T {
	all := func(err error) []T {
		answers := make([]T, n)
		for i := range answers {
			*errOf(&answers[i]) = err
		}
		return answers
	}
	return bounded(ctx, s, func() []T {
		answers := call()
		if err := incomplete(len(answers), n); err != nil {
			return all(err)
		}
		answers = slices.Clone(answers) // they are the store's
		errs := make([]*error, 0, n)
		for i := range answers {
			if err := errOf(&answers[i]); *err != nil {
				errs = append(errs, err)
			}
		}
		s.errors.sound(ctx, errs...)
		return answers
	}, all)
}

// silent is the error of a call that was given up. Some stores know what may be why.
func (s boundedStore) silent(err error) error {
	if store, ok := s.Store.(interface{ WhySilent() string }); ok && !errors.Is(err, context.Canceled) {
		if why := store.WhySilent(); why != "" {
			return fmt.Errorf("the job store has not answered (%s): %w", why, err)
		}
	}
	return fmt.Errorf("the job store has not answered: %w", err)
}

// answer is what most calls return.
type answer[T any] struct {
	value T
	err   error
}

func boundedAnswer[T any](ctx context.Context, s boundedStore, call func(context.Context) (T, error)) (T, error) {
	a := bounded(ctx, s, func() answer[T] {
		value, err := call(ctx)
		s.errors.sound(ctx, &err)
		return answer[T]{value, err}
	}, func(err error) answer[T] { return answer[T]{err: err} })
	return a.value, a.err
}

func boundedError(ctx context.Context, s boundedStore, call func(context.Context) error) error {
	return bounded(ctx, s, func() error {
		err := call(ctx)
		s.errors.sound(ctx, &err)
		return err
	}, func(err error) error { return err })
}

// acrossParts is boundedAnswer for what is read from all parts. The store hears of the end a little before the caller
// does: it has time to say what the parts that are there have answered, on a busy machine too.
func acrossParts[T any](ctx context.Context, s boundedStore, call func(context.Context) (T, error)) (T, error) {
	if s.Parts() == 1 {
		return boundedAnswer(ctx, s, call)
	}
	limit := storeTimeout
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return boundedAnswer(ctx, s, func(ctx context.Context) (T, error) {
		ctx, cancel := context.WithTimeout(ctx, limit-limit/8)
		defer cancel()
		return call(ctx)
	})
}

func (s boundedStore) Register(ctx context.Context, r Registration) (View, error) {
	return boundedAnswer(ctx, s, func(ctx context.Context) (View, error) {
		view, err := s.Store.Register(ctx, r)
		return s.soundView(ctx, view, err, len(r.Offers))
	})
}

func (s boundedStore) Retire(ctx context.Context, job, epoch string) error {
	return boundedError(ctx, s, func(ctx context.Context) error { return s.Store.Retire(ctx, job, epoch) })
}

func (s boundedStore) List(ctx context.Context, q ListQuery) (ListPage, error) {
	return acrossParts(ctx, s, func(ctx context.Context) (ListPage, error) { return s.Store.List(ctx, q) })
}

func (s boundedStore) Count(ctx context.Context, unseenSince time.Time) (JobCount, error) {
	return acrossParts(ctx, s, func(ctx context.Context) (JobCount, error) { return s.Store.Count(ctx, unseenSince) })
}

func (s boundedStore) Latest(ctx context.Context, limit int) ([]LatestRecord, error) {
	return acrossParts(ctx, s, func(ctx context.Context) ([]LatestRecord, error) { return s.Store.Latest(ctx, limit) })
}

func (s boundedStore) MostMissed(ctx context.Context, limit int) ([]string, error) {
	return acrossParts(ctx, s, func(ctx context.Context) ([]string, error) { return s.Store.MostMissed(ctx, limit) })
}

func (s boundedStore) Look(ctx context.Context, jobs []string) (View, error) {
	jobs = slices.Clone(jobs)
	return boundedAnswer(ctx, s, func(ctx context.Context) (View, error) {
		view, err := s.Store.Look(ctx, jobs)
		return s.soundView(ctx, view, err, len(jobs))
	})
}

func (s boundedStore) Cursors(ctx context.Context, jobs []string) ([]time.Time, error) {
	return boundedAnswer(ctx, s, func(ctx context.Context) ([]time.Time, error) {
		cursors, err := s.Store.Cursors(ctx, jobs)
		return cursors, cmp.Or(err, incomplete(len(cursors), len(jobs)))
	})
}

func (s boundedStore) Epochs(ctx context.Context, jobs []string) ([]string, error) {
	return boundedAnswer(ctx, s, func(ctx context.Context) ([]string, error) {
		epochs, err := s.Store.Epochs(ctx, jobs)
		return epochs, cmp.Or(err, incomplete(len(epochs), len(jobs)))
	})
}

func (s boundedStore) Claim(ctx context.Context, claims []Claim) []Claimed {
	own := slices.Clone(claims)
	for i := range own {
		own[i].InFlight = copied(own[i].InFlight)
	}
	answers := each(ctx, s, len(own), func() []Claimed { return s.Store.Claim(ctx, own) },
		func(c *Claimed) *error { return &c.Err })
	for i := range answers {
		answers[i].sound()
	}
	return answers
}

func (s boundedStore) Start(ctx context.Context, starts []Start) []error {
	return each(ctx, s, len(starts), func() []error { return s.Store.Start(ctx, starts) },
		func(err *error) *error { return err })
}

func (s boundedStore) Finish(ctx context.Context, finishes []Finish) []error {
	own := slices.Clone(finishes)
	for i := range own {
		own[i].Next = copied(own[i].Next)
	}
	return soundEnds(finishes, each(ctx, s, len(own), func() []error { return s.Store.Finish(ctx, own) },
		func(err *error) *error { return err }))
}

func copied(p *InFlight) *InFlight {
	if p == nil {
		return nil
	}
	own := *p
	return &own
}

func (s boundedStore) Heartbeat(ctx context.Context, b Heartbeat) (HeartbeatReply, error) {
	return boundedAnswer(ctx, s, func(ctx context.Context) (HeartbeatReply, error) {
		reply, err := s.Store.Heartbeat(ctx, b)
		return reply, cmp.Or(err, timed(reply.Now))
	})
}

func (s boundedStore) Restore(ctx context.Context, m Memory) error {
	return boundedError(ctx, s, func(ctx context.Context) error { return s.Store.Restore(ctx, m) })
}

func (s boundedStore) Leave(ctx context.Context, session string) error {
	return boundedError(ctx, s, func(ctx context.Context) error { return s.Store.Leave(ctx, session) })
}

func (s boundedStore) Nodes(ctx context.Context) ([]Node, error) {
	return acrossParts(ctx, s, func(ctx context.Context) ([]Node, error) { return s.Store.Nodes(ctx) })
}

func (s boundedStore) InFlight(ctx context.Context) ([]InFlight, error) {
	return acrossParts(ctx, s, func(ctx context.Context) ([]InFlight, error) { return s.Store.InFlight(ctx) })
}

func (s boundedStore) Runs(ctx context.Context, jobs []string, limit int) ([][]Run, error) {
	jobs = slices.Clone(jobs)
	return boundedAnswer(ctx, s, func(ctx context.Context) ([][]Run, error) {
		runs, err := s.Store.Runs(ctx, jobs, limit)
		return runs, cmp.Or(err, incomplete(len(runs), len(jobs)))
	})
}

func (s boundedStore) Failures(ctx context.Context, limit int) ([]Run, error) {
	return acrossParts(ctx, s, func(ctx context.Context) ([]Run, error) { return s.Store.Failures(ctx, limit) })
}

func (s boundedStore) Pause(ctx context.Context, job string, p Pause) (PauseState, error) {
	return boundedAnswer(ctx, s, func(ctx context.Context) (PauseState, error) { return s.Store.Pause(ctx, job, p) })
}

func (s boundedStore) Resume(ctx context.Context, job string, version int64, record Run, keep int) (PauseState, error) {
	return boundedAnswer(ctx, s, func(ctx context.Context) (PauseState, error) {
		return s.Store.Resume(ctx, job, version, record, keep)
	})
}

func (s boundedStore) Cancel(ctx context.Context, n Notice) error {
	return boundedError(ctx, s, func(ctx context.Context) error { return s.Store.Cancel(ctx, n) })
}

// Put copies the payload: it belongs to the caller of At, who may change it when At has returned.
func (s boundedStore) Put(ctx context.Context, o OneOff) error {
	o.Payload = slices.Clone(o.Payload)
	return boundedError(ctx, s, func(ctx context.Context) error { return s.Store.Put(ctx, o) })
}

func (s boundedStore) Withdraw(ctx context.Context, id string) error {
	return boundedError(ctx, s, func(ctx context.Context) error { return s.Store.Withdraw(ctx, id) })
}

func (s boundedStore) Waiting(ctx context.Context, limit int) ([]OneOff, error) {
	return acrossParts(ctx, s, func(ctx context.Context) ([]OneOff, error) { return s.Store.Waiting(ctx, limit) })
}

// Locate implements [Locator], if the store does.
func (s boundedStore) Locate(ctx context.Context, part int) string {
	locator, ok := s.Store.(Locator)
	if !ok {
		return ""
	}
	return bounded(ctx, s, func() string { return locator.Locate(ctx, part) }, func(error) string { return "" })
}
