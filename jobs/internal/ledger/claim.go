package ledger

import (
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// Claim makes one claim. It needs the job, the run by its ID, the one-off job, for Claim.Owed the runs in flight of the
// job, and for Claim.Manual what is known of AskedFor.
func (s *State) Claim(c jobs.Claim, now time.Time) jobs.Claimed {
	j := s.job(c.Job)
	status := s.decide(j, &c, now)
	switch {
	case status != jobs.ClaimWon:
	case s.repeated(&c):
		s.extend(c.InFlight.Owner, now, c.Lease)
	default:
		switch {
		case c.OneOff != "":
			delete(s.Waiting, c.OneOff)
			s.Past[c.OneOff] = now
		case c.Manual && c.InFlight != nil:
			s.Past[AskedFor(c.InFlight.Run.ID)] = now
		case !c.Manual:
			j.move(&c)
			j.Missed += c.Missed
			if c.Skipped != nil {
				j.record(*c.Skipped, c.Keep, now)
			}
		}
		if c.InFlight != nil {
			s.hold(*c.InFlight, now, c.Lease)
		}
	}
	return jobs.Claimed{Status: status, Cursor: j.Cursor, Owed: slices.Clone(j.Owed), Now: now}
}

// AskedFor is the key in State.Past of a run that somebody has asked for. No one-off job has such an ID.
func AskedFor(run string) string { return "\x00" + run }

// repeated reports whether an earlier call has put the run in flight. One that somebody has asked for may have ended
// since, or have another owner.
func (s *State) repeated(c *jobs.Claim) bool {
	if c.InFlight == nil {
		return false
	}
	_, known := s.Past[AskedFor(c.InFlight.Run.ID)]
	_, owned := s.owned(c.InFlight.Run.ID, c.InFlight.Owner)
	return owned || c.Manual && known
}

func (s *State) decide(j *Job, c *jobs.Claim, now time.Time) jobs.ClaimStatus {
	_, waits := s.Waiting[c.OneOff]
	switch {
	case s.repeated(c), c.Manual:
		return jobs.ClaimWon
	case c.OneOff != "" && !waits:
		return jobs.ClaimTaken
	case c.OneOff != "" && c.Due.After(now):
		return jobs.ClaimEarly
	case c.OneOff != "":
		return jobs.ClaimWon
	case j.Cursor.IsZero():
		return jobs.ClaimUnknown
	case c.Epoch != "" && c.Epoch != j.Spec.Epoch:
		return jobs.ClaimStale
	case c.Owed && (len(j.Owed) == 0 || !j.Owed[0].From.Equal(c.Prev)), !c.Owed && !j.Cursor.Equal(c.Prev):
		return jobs.ClaimTaken
	case j.Paused != nil:
		return jobs.ClaimPaused
	case c.Due.After(now):
		return jobs.ClaimEarly
	case c.Owed && s.catchingUp(c.Job):
		return jobs.ClaimBusy
	}
	return jobs.ClaimWon
}

// catchingUp reports whether a run of the job for a tick that was owed is in flight.
func (s *State) catchingUp(job string) bool {
	for _, p := range s.InFlight {
		if p.Run.Job == job && p.Backlog {
			return true
		}
	}
	return false
}

// move changes what is decided and owed as a claim says.
func (j *Job) move(c *jobs.Claim) {
	switch {
	case c.Owed && c.Done:
		j.Owed = slices.Clone(j.Owed[1:])
	case c.Owed:
		j.Owed = slices.Clone(j.Owed)
		j.Owed[0].From = c.Tick
	default:
		if j.Cursor = c.Tick; c.Owe != nil {
			j.Owed = append(slices.Clone(j.Owed), *c.Owe)
		}
	}
}
