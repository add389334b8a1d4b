package lockrt

import (
	"errors"
	"fmt"
	"sync"
)

// maxCloseErrors is how many locks Close names.
const maxCloseErrors = 10

// A closeReport is what Close has to say of grants. Its zero value is empty.
type closeReport struct {
	mu    sync.Mutex
	tried map[*grant]error // those that Close has failed to release; nil: and has not begun to
	kept  []error          // of those that MinHold was to keep, which the end of the lease does not mend
	why   error            // it has not begun to release them all
}

func (r *closeReport) failed(lease *Lease, err error, keep bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tried == nil {
		r.tried = make(map[*grant]error)
	}
	if r.tried[lease.grant] = err; keep && len(r.kept) < maxCloseErrors {
		r.kept = append(r.kept, err)
		r.tried[lease.grant] = errTold
	}
}

// errTold stands for an error that is told anyway.
var errTold = errors.New("told")

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

// of says what is not known to be released of what is left. What others have released after all is no failure.
func (r *closeReport) of(left []*grant) []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs, more := r.kept, 0
	for _, g := range left {
		switch err := r.tried[g]; {
		case err == errTold:
		case err != nil && len(errs) < maxCloseErrors:
			errs = append(errs, err)
		default:
			more++
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
