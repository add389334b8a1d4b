package jobs

import (
	"context"
	"slices"
	"time"
)

// extend makes an owner's lease last from now. It needs mu.
func (s *memoryStore) extend(owner string, now time.Time, lease time.Duration) {
	if owner != Nobody {
		s.alive[owner] = now.Add(lease)
	}
}

// hold puts a run in flight. It needs mu.
func (s *memoryStore) hold(p InFlight, now time.Time, lease time.Duration) {
	s.flights[p.Run.ID] = &p
	s.extend(p.Owner, now, lease)
}

// owned returns a run in flight of an owner, nil if there is none. It needs mu.
func (s *memoryStore) owned(id, owner string) *InFlight {
	if p := s.flights[id]; p != nil && p.Owner == owner {
		return p
	}
	return nil
}

func (s *memoryStore) Claim(ctx context.Context, claims []Claim) []Claimed {
	results := make([]Claimed, len(claims))
	for i, c := range claims {
		results[i].Err = s.do(ctx, func(now time.Time) error {
			results[i] = s.claim(c, now)
			return nil
		})
	}
	return results
}

func (s *memoryStore) claim(c Claim, now time.Time) Claimed {
	j := s.job(c.Job)
	status := s.decide(j, c, now)
	if status != ClaimWon {
		return Claimed{Status: status, Cursor: j.cursor, Owed: slices.Clone(j.owed), Now: now}
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
	return Claimed{Status: ClaimWon, Cursor: j.cursor, Owed: slices.Clone(j.owed), Now: now}
}

// move changes what is decided and owed as a claim says.
func (j *memoryJob) move(c Claim) {
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

func (s *memoryStore) decide(j *memoryJob, c Claim, now time.Time) ClaimStatus {
	_, waits := s.waiting[c.OneOff]
	switch {
	case c.InFlight != nil && s.owned(c.InFlight.Run.ID, c.InFlight.Owner) != nil, c.Manual:
		return ClaimWon
	case c.OneOff != "" && !waits:
		return ClaimTaken
	case c.OneOff != "" && c.Due.After(now):
		return ClaimEarly
	case c.OneOff != "":
		return ClaimWon
	case j.cursor.IsZero():
		return ClaimUnknown
	case c.Epoch != "" && c.Epoch != j.spec.epoch:
		return ClaimStale
	case c.Owed && (len(j.owed) == 0 || !j.owed[0].From.Equal(c.Prev)), !c.Owed && !j.cursor.Equal(c.Prev):
		return ClaimTaken
	case j.paused != nil:
		return ClaimPaused
	case c.Due.After(now):
		return ClaimEarly
	case c.Owed && s.catchingUp(c.Job):
		return ClaimBusy
	}
	return ClaimWon
}

// catchingUp reports whether a run of the job for a tick that was owed is in flight. It needs mu.
func (s *memoryStore) catchingUp(job string) bool {
	for _, p := range s.flights {
		if p.Run.Job == job && p.Backlog {
			return true
		}
	}
	return false
}

func (s *memoryStore) Start(ctx context.Context, starts []Start) []error {
	errs := make([]error, len(starts))
	for i, b := range starts {
		errs[i] = s.do(ctx, func(now time.Time) error {
			p := s.owned(b.Run.ID, b.Owner)
			if p == nil {
				return ErrGone
			}
			if n, told := s.notices[b.Run.ID]; told && n.owner == "" {
				return &CancelledError{n.Notice}
			}
			begun := *p // others may be looking at the old one
			begun.Run.Started, begun.Run.Fence = b.Run.Started, b.Run.Fence
			s.hold(begun, now, b.Lease)
			return nil
		})
	}
	return errs
}

func (s *memoryStore) Finish(ctx context.Context, finishes []Finish) []error {
	errs := make([]error, len(finishes))
	for i, f := range finishes {
		errs[i] = s.do(ctx, func(now time.Time) error { return s.finish(f, now) })
	}
	return errs
}

func (s *memoryStore) finish(f Finish, now time.Time) error {
	switch {
	case f.Next != nil && s.owned(f.Next.Run.ID, f.Next.Owner) != nil &&
		(f.Next.Run.ID != f.Run.ID || f.Next.Owner != f.Owner):
		return nil // a repeated call
	case s.owned(f.Run.ID, f.Owner) == nil:
		return ErrGone
	case f.Orphan && s.alive[f.Owner].After(now):
		return ErrGone
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
	if f.Orphan && f.Owner != Nobody {
		s.notices[f.Run.ID] = memoryNotice{Notice{Job: f.Run.Job, ID: f.Run.ID, At: now, Taken: true}, f.Owner}
	}
	if f.Run.Outcome != "" {
		s.job(f.Run.Job).record(f.Run, f.Keep, now)
		s.noteFailure(f.Run)
	}
	if f.Next != nil {
		s.hold(*f.Next, now, f.Lease)
	}
	if cancelled {
		return &CancelledError{asked.Notice}
	}
	return nil
}

func (s *memoryStore) Cancel(ctx context.Context, n Notice) error {
	return s.do(ctx, func(time.Time) error {
		if s.flights[n.ID] == nil {
			return ErrGone
		}
		n.At = n.At.UTC().Truncate(time.Microsecond)
		s.notices[n.ID] = memoryNotice{n, ""}
		return nil
	})
}

// noticeRetention is how long a notice waits for an owner that does not come back.
const noticeRetention = time.Hour

func (s *memoryStore) Heartbeat(ctx context.Context, b Heartbeat) (reply HeartbeatReply, err error) {
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
			if now.Sub(n.At) > noticeRetention && s.flights[id] == nil {
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
	slices.SortFunc(reply.Due, byTime)
	slices.SortFunc(reply.Orphans, func(a, b InFlight) int { return a.Run.Tick.Compare(b.Run.Tick) })
	return reply, err
}

func (s *memoryStore) Leave(ctx context.Context, session string) error {
	return s.do(ctx, func(time.Time) error {
		delete(s.nodes, session)
		delete(s.alive, session)
		delete(s.heartbeats, session)
		return nil
	})
}
