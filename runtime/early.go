package lockrt

import "slices"

// earlyLosses remembers losses of leases that are not known yet: a Break can overtake the answer to the acquire of the
// lease that it ends. Most are of leases that have gone, and are forgotten when newer ones need their room.
type earlyLosses struct {
	reasons map[string]error
	order   []string
}

// maxEarlyLosses is more than can be broken by hand while one answer is under way.
const maxEarlyLosses = 1024

func (e *earlyLosses) add(id string, reason error) {
	if e.reasons == nil {
		e.reasons = make(map[string]error)
	}
	if _, again := e.reasons[id]; !again {
		if len(e.order) == maxEarlyLosses {
			delete(e.reasons, e.order[0])
			e.order = slices.Delete(e.order, 0, 1)
		}
		e.order = append(e.order, id)
	}
	e.reasons[id] = reason
}

// take returns why a lease was lost, and forgets it; nil if it was not.
func (e *earlyLosses) take(id string) error {
	reason := e.reasons[id]
	if reason != nil {
		delete(e.reasons, id)
		e.order = slices.DeleteFunc(e.order, func(other string) bool { return other == id })
	}
	return reason
}
