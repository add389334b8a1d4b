package sqlstore

import (
	"context"
	"slices"

	"github.com/lockgen/lockgen/internal/combine"
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
		errs := s.perLease(ctx, longest(all), true)
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

// renewTogether renews leases, with those of other callers.
func (s *session) renewTogether(ctx context.Context, leases []lease) []error {
	r := &renewal{leases: leases}
	if err := s.renewals.Do(ctx, r); err != nil {
		return slices.Repeat([]error{err}, len(leases))
	}
	return r.errs
}
