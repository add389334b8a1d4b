package lockrt

import (
	"fmt"
	"sync"
)

// maxCloseErrors is how many locks Close names.
const maxCloseErrors = 10

// A closeReport is what Close has to say of grants. Its zero value is empty.
type closeReport struct {
	mu    sync.Mutex
	tried map[*grant]error // those that Close has failed to release; nil: and has not begun to
	kept  map[*Lease]error // of those that MinHold was to keep, which the end of the lease does not mend
	why   error            // it has not begun to release them all
}

func (r *closeReport) failed(lease *Lease, err error, keep bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tried == nil {
		r.tried = make(map[*grant]error)
	}
	if r.tried[lease.grant] = err; keep {
		if r.kept == nil {
			r.kept = make(map[*Lease]error)
		}
		r.kept[lease] = err
	}
}

// stopped notes that Close has not begun to release some leases.
func (r *closeReport) stopped(leases []*Lease, of map[*Lease]urgency, why error) {
	for _, lease := range leases {
		if of[lease].keep {
			r.failed(lease, fmt.Errorf("release lock %s: %w", quote(lease.grant.key), why), true)
		} else {
			r.failed(lease, nil, false)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why = why
}

func (r *closeReport) hasTried(g *grant) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, tried := r.tried[g]
	return tried
}

// keeps reports whether MinHold was to keep a grant: to release it at once would be no mend.
func (r *closeReport) keeps(g *grant) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for lease := range r.kept {
		if lease.grant == g {
			return true
		}
	}
	return false
}

// of says what is not known to be released of what is left. What others have released after all is no failure.
func (r *closeReport) of(left []*grant) []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	more := 0
	say := func(err error) {
		if err != nil && len(errs) < maxCloseErrors {
			errs = append(errs, err)
		} else {
			more++
		}
	}
	told := make(map[*grant]bool, len(r.kept))
	for lease, err := range r.kept {
		told[lease.grant] = true
		if !lease.grant.freed.Load() {
			say(err)
		}
	}
	for _, g := range left {
		if !told[g] {
			say(r.tried[g])
		}
	}
	what := fmt.Sprintf("%d more locks", more)
	if len(errs) == 0 {
		what = fmt.Sprintf("%d locks", more)
	}
	switch {
	case more > 0 && r.why != nil:
		errs = append(errs, fmt.Errorf("%s are left to their TTL: %w", what, r.why))
	case more > 0:
		errs = append(errs, fmt.Errorf("%s are not known to be released, at worst left to their TTL", what))
	}
	return errs
}
