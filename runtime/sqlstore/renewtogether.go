package sqlstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lockgen/lockgen/internal/combine"
	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// renewal is one call of Renew.
type renewal struct {
	combine.Ticket
	leases []lease
	errs   []error
}

const (
	// renewAlone is how many calls are under way, each with statements of its own, before those that come are gathered.
	renewAlone = 2
	// renewCalls is how many calls share statements at the most.
	renewCalls = 128
	// lateRenewals is how many renewals wait for rows that somebody has locked.
	lateRenewals = 2
	// rowPause is how long a renewal waits for its turn to wait for a row before it is tried whether that is free. That
	// doubles with each try, up to rowPauseMost.
	rowPause, rowPauseMost = 4 * time.Millisecond, 16 * time.Millisecond
)

// combineRenewals prepares the combiner. A process with very many leases has some due all the time: each call is about a
// few of them, and there would be more calls than connections.
func (s *session) combineRenewals() {
	c := &s.renewals
	c.Alone, c.Lanes, c.Most, c.Time, c.Start = renewAlone, combineLanes, renewCalls, 2*callTime, s.calls.Start
	c.Send = func(ctx context.Context, batch []*renewal) bool {
		var all []lease
		for _, r := range batch {
			all = append(all, r.leases...)
		}
		errs := s.perLease(ctx, longest(all), renewsSoon)
		for _, r := range batch {
			r.errs, errs = slices.Clone(errs[:len(r.leases)]), errs[len(r.leases):]
		}
		return true
	}
}

// longest has all renewals of one lease ask for what the longest of them does: a statement does one of them.
func longest(leases []lease) []lease {
	ttls := make(map[string]int64, len(leases))
	for _, l := range leases {
		ttls[l.id] = max(ttls[l.id], l.ttl)
	}
	for i := range leases {
		leases[i].ttl = ttls[leases[i].id]
	}
	return leases
}

// renewTogether renews leases, with those of other callers. The rows that somebody has locked are left out there, so
// that they keep nobody waiting, and then waited for.
func (s *session) renewTogether(ctx context.Context, leases []lease) []error {
	r := &renewal{leases: leases}
	if err := s.renewals.Do(ctx, r); err != nil {
		return slices.Repeat([]error{err}, len(leases))
	}
	var late sync.WaitGroup
	for i, l := range leases {
		if r.errs[i] == errRowLocked {
			late.Go(func() { r.errs[i] = s.renewLate(ctx, l) })
		}
	}
	late.Wait()
	return r.errs
}

var errRowLocked = errors.New("somebody keeps its row locked; is another program at work in the table of locks?")

// renewLate renews a lease whose row is locked when that is over. As a rule that is a moment, the length of another
// statement. Rows that other programs keep locked may have taken all places in which it is waited for: then it is
// tried now and then whether this one is free.
func (s *session) renewLate(ctx context.Context, l lease) error {
	limit, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	for pause := rowPause; ; pause = min(2*pause, rowPauseMost) {
		if s.beginLate(limit, l, pause) {
			return s.renewPatiently(ctx, l)
		}
		r := &renewal{leases: []lease{l}}
		err := s.renewals.Do(limit, r)
		if err == nil {
			err = r.errs[0]
		}
		switch {
		case limit.Err() != nil && err != nil && !errors.Is(err, lockrt.ErrLost):
			return errors.Join(ctx.Err(), errRowLocked) // it has been for all that time
		case err != errRowLocked:
			return err
		}
	}
}

// beginLate waits until a statement may wait for the row of a lease, which patient.end ends. It returns false if that
// takes longer than patience. Another one does not begin before this one is over.
func (s *session) beginLate(ctx context.Context, l lease, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, pace.Jitter(patience))
	defer cancel()
	return s.late.begin(ctx, l.named())
}

// renewPatiently renews a lease and waits for its row, after beginLate.
func (s *session) renewPatiently(ctx context.Context, l lease) error {
	var err error
	done := make(chan struct{})
	s.calls.Start(func() {
		defer close(done)
		defer s.late.end(l.named())
		err = s.perLease(context.WithoutCancel(ctx), []lease{l}, renewsPatiently)[0]
	})
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return errors.Join(ctx.Err(), errRowLocked)
	}
}
