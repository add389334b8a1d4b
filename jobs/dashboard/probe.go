package dashboard

import "time"

const (
	// probeTimeout is how long a store that did not answer is given for a small question, unless it is known to be slower.
	probeTimeout = time.Second
	// longProbe is every how many small questions without an answer one is given the time of a page, in case that the store
	// has come back slower.
	longProbe = 8
)

// mayProbe reports whether the small question is under way or may be asked. A doubt does not wait until its last answer is old,
// but for a fifth of the time.
func (k *known) mayProbe(now time.Time) bool {
	from := k.pulse.rested
	if !k.doubt {
		from = later(from, k.pulse.until)
	}
	return k.pulse.flight != nil || !now.Before(from)
}

// probeLimit is how long the small question is given: a short time while there is doubt. So pages do not wait long while the
// store stays silent, or while a dead connection hides that it has returned.
func (k *known) probeLimit() time.Duration {
	if !k.doubt || k.pulse.misses%longProbe == longProbe-1 {
		return storeTimeout
	}
	return k.telling()
}

// telling is for how long the small question must have had no answer to tell that the store is silent. How long a store takes
// that has never answered is not known.
func (k *known) telling() time.Duration {
	if k.heard.IsZero() && !k.silent {
		return storeTimeout
	}
	return k.shortProbe()
}

// shortProbe is twice as long as the store took for its last answer, and probeTimeout at least.
func (k *known) shortProbe() time.Duration {
	return min(max(probeTimeout, 2*k.took), storeTimeout)
}

// probeRest is how long the small question rests after one without an answer. The short ones make up for the long ones.
func (k *known) probeRest(took time.Duration) time.Duration {
	parts := time.Duration(4)
	if k.pulse.misses >= longProbe-1 {
		parts = 6
	}
	return max(failedFor, parts*min(took, k.shortProbe()))
}
