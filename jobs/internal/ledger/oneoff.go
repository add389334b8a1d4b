package ledger

import (
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// Put stores a one-off job. It needs what is known of its ID.
func (s *State) Put(o jobs.OneOff, now time.Time) {
	if at := s.Past[o.ID]; now.Sub(at) > jobs.OneOffRetention {
		delete(s.Past, o.ID)
		s.wait(o)
	}
}

// wait has a one-off job wait, unless it does.
func (s *State) wait(o jobs.OneOff) {
	if _, waits := s.Waiting[o.ID]; !waits {
		s.Waiting[o.ID] = Stored(o)
	}
}

// Stored is a one-off job as stores keep it.
func Stored(o jobs.OneOff) jobs.OneOff {
	o.At, o.Payload = o.At.UTC().Truncate(time.Microsecond), slices.Clone(o.Payload)
	return o
}

// Withdraw removes a one-off job that waits. It needs the job.
func (s *State) Withdraw(id string) error {
	if _, waits := s.Waiting[id]; !waits {
		return jobs.ErrGone
	}
	delete(s.Waiting, id)
	return nil
}
