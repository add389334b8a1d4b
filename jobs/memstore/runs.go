package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// extend makes an owner's lease last from now. It needs mu.
func (s *Store) extend(owner string, now time.Time, lease time.Duration) {
	if owner != jobs.Nobody {
		s.alive[owner] = now.Add(lease)
	}
}

// hold puts a run in flight. It needs mu.
func (s *Store) hold(p jobs.InFlight, now time.Time, lease time.Duration) {
	s.flights[p.Run.ID] = &p
	s.extend(p.Owner, now, lease)
}

// owned returns a run in flight of an owner, nil if there is none. It needs mu.
func (s *Store) owned(id, owner string) *jobs.InFlight {
	if p := s.flights[id]; p != nil && p.Owner == owner {
		return p
	}
	return nil
}

func (s *Store) Claim(ctx context.Context, claims []jobs.Claim) []jobs.Claimed {
	results := make([]jobs.Claimed, len(claims))
	for i, c := range claims {
		results[i].Err = s.do(ctx, func(now time.Time) error {
			results[i] = s.claim(c, now)
			return nil
		})
	}
	return results
}

func (s *Store) claim(c jobs.Claim, now time.Time) jobs.Claimed {
	j := s.job(c.Job)
	status := s.decide(j, c, now)
	if status != jobs.ClaimWon {
		return jobs.Claimed{Status: status, Cursor: j.cursor, Owed: slices.Clone(j.owed), Now: now}
	}
	if repeated := c.InFlight != nil && s.owned(c.InFlight.Run.ID, c.InFlight.Owner) != nil; !repeated {
		switch {
		case c.OneOff != "":
			delete(s.waiting, c.OneOff)
			s.past[c.OneOff] = now
		case !c.Manual:
			j.move(c)
			j.missed += c.Missed
			if c.Skipped != nil {
				j.record(*c.Skipped, c.Keep, now)
			}
		}
	}
	if c.InFlight != nil {
		s.hold(*c.InFlight, now, c.Lease)
	}
	return jobs.Claimed{Status: jobs.ClaimWon, Cursor: j.cursor, Owed: slices.Clone(j.owed), Now: now}
}

// move changes what is decided and owed as a claim says.
func (j *job) move(c jobs.Claim) {
	switch {
	case c.Owed && c.Done:
		j.owed = slices.Clone(j.owed[1:])
	case c.Owed:
		j.owed = slices.Clone(j.owed)
		j.owed[0].From = c.Tick
	default:
		if j.cursor = c.Tick; c.Owe != nil {
			j.owed = append(slices.Clone(j.owed), *c.Owe)
		}
	}
}

func (s *Store) decide(j *job, c jobs.Claim, now time.Time) jobs.ClaimStatus {
	_, waits := s.waiting[c.OneOff]
	switch {
	case c.InFlight != nil && s.owned(c.InFlight.Run.ID, c.InFlight.Owner) != nil, c.Manual:
		return jobs.ClaimWon
	case c.OneOff != "" && !waits:
		return jobs.ClaimTaken
	case c.OneOff != "" && c.Due.After(now):
		return jobs.ClaimEarly
	case c.OneOff != "":
		return jobs.ClaimWon
	case j.cursor.IsZero():
		return jobs.ClaimUnknown
	case c.Epoch != "" && c.Epoch != j.spec.epoch:
		return jobs.ClaimStale
	case c.Owed && (len(j.owed) == 0 || !j.owed[0].From.Equal(c.Prev)), !c.Owed && !j.cursor.Equal(c.Prev):
		return jobs.ClaimTaken
	case j.paused != nil:
		return jobs.ClaimPaused
	case c.Due.After(now):
		return jobs.ClaimEarly
	case c.Owed && s.catchingUp(c.Job):
		return jobs.ClaimBusy
	}
	return jobs.ClaimWon
}

// catchingUp reports whether a run of the job for a tick that was owed is in flight. It needs mu.
func (s *Store) catchingUp(job string) bool {
	for _, p := range s.flights {
		if p.Run.Job == job && p.Backlog {
			return true
		}
	}
	return false
}

func (s *Store) Start(ctx context.Context, starts []jobs.Start) []error {
	errs := make([]error, len(starts))
	for i, b := range starts {
		errs[i] = s.do(ctx, func(now time.Time) error {
			p := s.owned(b.Run.ID, b.Owner)
			if p == nil {
				return jobs.ErrGone
			}
			if n, told := s.notices[b.Run.ID]; told && n.owner == "" {
				return &jobs.CancelledError{Notice: n.Notice}
			}
			begun := *p // others may be looking at the old one
			begun.Run.Started, begun.Run.Fence = b.Run.Started, b.Run.Fence
			s.hold(begun, now, b.Lease)
			return nil
		})
	}
	return errs
}

func (s *Store) Finish(ctx context.Context, finishes []jobs.Finish) []error {
	errs := make([]error, len(finishes))
	for i, f := range finishes {
		errs[i] = s.do(ctx, func(now time.Time) error { return s.finish(f, now) })
	}
	return errs
}

func (s *Store) finish(f jobs.Finish, now time.Time) error {
	switch {
	case f.Next != nil && s.owned(f.Next.Run.ID, f.Next.Owner) != nil &&
		(f.Next.Run.ID != f.Run.ID || f.Next.Owner != f.Owner):
		return nil // a repeated call
	case s.owned(f.Run.ID, f.Owner) == nil:
		return jobs.ErrGone
	case f.Orphan && s.alive[f.Owner].After(now):
		return jobs.ErrGone
	}
	delete(s.flights, f.Run.ID)
	asked, cancelled := s.notices[f.Run.ID]
	cancelled = cancelled && asked.owner == ""
	if goesOn := f.Next != nil && f.Next.Run.ID == f.Run.ID; goesOn {
		cancelled = false // not yet
	} else {
		delete(s.notices, f.Run.ID)
	}
	if cancelled {
		f.Run.CancelAsked, f.Next = &asked.Notice, nil
	}
	if f.Orphan && f.Owner != jobs.Nobody {
		s.notices[f.Run.ID] = notice{jobs.Notice{Job: f.Run.Job, ID: f.Run.ID, At: now, Taken: true}, f.Owner}
	}
	if f.Run.Outcome != "" {
		s.job(f.Run.Job).record(f.Run, f.Keep, now)
		s.noteFailure(f.Run)
	}
	if f.Next != nil {
		s.hold(*f.Next, now, f.Lease)
	}
	if cancelled {
		return &jobs.CancelledError{Notice: asked.Notice}
	}
	return nil
}

func (s *Store) Cancel(ctx context.Context, n jobs.Notice) error {
	return s.do(ctx, func(time.Time) error {
		if s.flights[n.ID] == nil {
			return jobs.ErrGone
		}
		n.At = n.At.UTC().Truncate(time.Microsecond)
		s.notices[n.ID] = notice{n, ""}
		return nil
	})
}

func (s *Store) Heartbeat(ctx context.Context, b jobs.Heartbeat) (reply jobs.HeartbeatReply, err error) {
	err = s.do(ctx, func(now time.Time) error {
		b.Node.Heartbeat = now
		s.nodes[b.Session] = b.Node
		s.extend(b.Session, now, b.Lease)
		reply.Now = now
		s.compareStamp(b, &reply, now)
		for session, n := range s.nodes {
			if now.Sub(n.Heartbeat) <= b.Lease {
				reply.Peers = append(reply.Peers, session)
			}
		}
		owners := map[string]bool{b.Session: true}
		for _, p := range s.flights {
			owners[p.Owner] = true
			switch {
			case p.Owner == b.Session:
				reply.Held++
			case !s.alive[p.Owner].After(now):
				reply.Orphans = append(reply.Orphans, *p)
			}
		}
		for session, until := range s.alive {
			if !until.After(now) && !owners[session] {
				delete(s.alive, session)
			}
		}
		for id, n := range s.notices {
			if now.Sub(n.At) > jobs.NoticeRetention && s.flights[id] == nil {
				delete(s.notices, id)
			} else if n.owner == b.Session || n.owner == "" && s.owned(id, b.Session) != nil {
				reply.Notices = append(reply.Notices, n.Notice)
			}
		}
		for _, o := range s.waiting {
			if !o.At.After(now.Add(b.Horizon)) {
				reply.Due = append(reply.Due, o)
			}
		}
		return nil
	})
	slices.Sort(reply.Peers)
	slices.SortFunc(reply.Due, jobs.OneOff.Compare)
	slices.SortFunc(reply.Orphans, func(a, b jobs.InFlight) int { return a.Run.Tick.Compare(b.Run.Tick) })
	return reply, err
}

func (s *Store) Leave(ctx context.Context, session string) error {
	return s.do(ctx, func(time.Time) error {
		delete(s.nodes, session)
		delete(s.alive, session)
		delete(s.heartbeats, session)
		return nil
	})
}
