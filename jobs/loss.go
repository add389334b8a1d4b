package jobs

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"
)

const (
	// knownRuns is how many ended runs, and how many one-off jobs of each kind, a node remembers for the case that the
	// store forgets.
	knownRuns = 4096
	// askedWaiting is of how many one-off jobs a heartbeat asks whether they wait still.
	askedWaiting = 256
	// knownFor is for how long it remembers ended runs.
	knownFor = 10 * time.Minute
)

// memory is what this node knows of what the store has been told. It is guarded by Scheduler.mu.
type memory struct {
	pauses  map[string]PauseState // by job
	waiting map[string]OneOff     // one-off jobs that this scheduler has put or heard of, by ID
	past    map[string]time.Time  // those that it has claimed or withdrawn: when
	ended   map[string]endedRun   // runs that it has recorded, by ID
}

type endedRun struct {
	run Run
	at  time.Time
}

func newMemory() memory {
	return memory{
		pauses: make(map[string]PauseState), waiting: make(map[string]OneOff), past: make(map[string]time.Time),
		ended: make(map[string]endedRun),
	}
}

// rememberRun notes that a run was recorded.
func (s *Scheduler) rememberRun(r Run) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	forget(s.memory.ended, func(e endedRun) bool { return now.Sub(e.at) > knownFor })
	s.memory.ended[r.ID] = endedRun{r, now}
}

// forget makes room in a map that is full: of what is too old, and else of some. It makes room for many, because it
// looks at all.
func forget[V any](m map[string]V, old func(V) bool) {
	if len(m) < knownRuns {
		return
	}
	maps.DeleteFunc(m, func(_ string, v V) bool { return old(v) })
	for k := range m {
		if len(m) <= knownRuns-knownRuns/8 {
			return
		}
		delete(m, k)
	}
}

// rememberOneOff notes a one-off job that waits.
func (s *Scheduler) rememberOneOff(o OneOff) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, over := s.memory.past[o.ID]; !over {
		forget(s.memory.waiting, func(OneOff) bool { return false })
		s.memory.waiting[o.ID] = o
	}
}

// rememberPast notes that a one-off job waits no more.
func (s *Scheduler) rememberPast(id string) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.memory.waiting, id)
	forget(s.memory.past, func(at time.Time) bool { return now.Sub(at) > OneOffRetention })
	s.memory.past[id] = now
}

// heardPause notes a pause or a resume, and reports false if that or a later one is known. It needs Scheduler.mu.
func (m *memory) heardPause(state PauseState) bool {
	if state.Version <= m.pauses[state.Job].Version {
		return false
	}
	m.pauses[state.Job] = state
	return true
}

// rememberPause notes a pause or a resume that the store has taken from this scheduler: until their next heartbeats no
// others know.
func (s *Scheduler) rememberPause(state PauseState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory.heardPause(state) {
		s.partOf(state.Job).accepted[state.Job] = state.Version
	}
}

// acceptedPauses are the versions of pauses and resumes that the next heartbeat is to tell of, by job.
func (p *part) acceptedPauses() map[string]int64 {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return maps.Clone(p.accepted)
}

// checkPauses returns a job of which the store does not know the pause or resume any more that it had taken before a
// heartbeat, "" if there is none.
func (p *part) checkPauses(before map[string]int64, reply HeartbeatReply) (lost string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	for _, state := range reply.Pauses {
		if version, wanted := p.accepted[state.Job]; wanted && state.Version >= version {
			delete(p.accepted, state.Job)
		}
	}
	for job, version := range before {
		if p.accepted[job] == version {
			delete(p.accepted, job)
			lost = job
		}
	}
	return lost
}

// resumedAt returns when a job was resumed, if it has been since it was paused last. It needs Scheduler.mu.
func (m *memory) resumedAt(job string) (at time.Time, ok bool) {
	state, known := m.pauses[job]
	return time.UnixMicro(state.Version).UTC(), known && state.Pause == nil
}

// believedWaiting are IDs of one-off jobs that this node remembers to wait, for a heartbeat to ask about: others may have
// withdrawn them. Of many each heartbeat asks about the next ones, in turn.
func (p *part) believedWaiting() []string {
	if p != p.s.oneOffPart() {
		return nil
	}
	p.s.mu.Lock()
	ids := slices.Sorted(maps.Keys(p.s.memory.waiting))
	p.s.mu.Unlock()
	if len(ids) <= askedWaiting {
		return ids
	}
	at, asked := slices.BinarySearch(ids, p.asked)
	if asked {
		at++
	}
	ids = append(ids[at:], ids[:at]...)[:askedWaiting]
	p.asked = ids[askedWaiting-1]
	return ids
}

// rememberReply notes what a heartbeat has told.
func (p *part) rememberReply(reply HeartbeatReply) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, state := range reply.Pauses {
		s.memory.heardPause(state)
	}
	if reply.Lost || p != s.oneOffPart() {
		return // it does not tell of one-off jobs, or not of those that are to be put back
	}
	for _, id := range reply.Over {
		delete(s.memory.waiting, id)
	}
	due := make(map[string]bool, len(reply.Due))
	for _, o := range reply.Due {
		if due[o.ID] = true; s.memory.past[o.ID].IsZero() && len(s.memory.waiting) < knownRuns {
			s.memory.waiting[o.ID] = o
		}
	}
	for id, o := range s.memory.waiting {
		if !due[id] && o.At.Before(reply.Now) {
			delete(s.memory.waiting, id) // another node has claimed it
		}
	}
}

// noticeLoss is called when the store turns out to know less than it did. All jobs are registered again with the
// cursors that this node knows, what else it knows is put back, and nothing is claimed for a lease: by then all nodes
// have noticed, and the store has the highest cursor that any of them knows.
func (p *part) noticeLoss(sign string) {
	s := p.s
	now := time.Now()
	s.mu.Lock()
	again := now.Before(p.heldUntil)
	if p.forgetful, p.stale = true, true; !again {
		p.heldUntil, p.lossAt = now.Add(s.lease), p.clock.storeTime(now)
	}
	p.rouse()
	s.mu.Unlock()
	if again {
		return
	}
	s.cfg.Logger.LogAttrs(context.Background(), slog.LevelError,
		"job store has lost data; jobs are registered again with what this node knows, and no ticks are claimed until "+
			"then",
		slog.String("sign", sign), slog.Duration("for", s.lease))
}

// remind registers a job again that the store turns out not to know although this node has it there. It does nothing
// for others.
func (s *Scheduler) remind(ctx context.Context, job string) error {
	e, _, done := s.here(job)
	defer done()
	if e == nil || !s.isRegistered(e) {
		return nil
	}
	e.part.noticeLoss("it does not know job " + job + ", which this node has")
	_, err := s.cfg.Store.Register(ctx, e.part.registration([]*entry{e}))
	return err
}

// isRegistered reports whether the store has told the cursor of a job.
func (s *Scheduler) isRegistered(e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !e.cursor.IsZero()
}

// onHold returns until when nothing is to be claimed, by the local clock.
func (p *part) onHold() time.Time {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.heldUntil
}

// lostSince reports whether the store has lost data since a moment on its clock.
func (p *part) lostSince(t time.Time) bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return !p.lossAt.IsZero() && !p.lossAt.Before(t)
}

// restore puts back what this node knows. It is tried again at the next heartbeat if the store does not answer.
func (p *part) restore(h *host) {
	m, forgetful := p.known()
	if !forgetful {
		return
	}
	ctx, cancel := context.WithTimeout(h.records, storeTimeout)
	defer cancel()
	err := p.s.cfg.Store.Restore(ctx, m)
	if p.heard(err); err == nil {
		p.s.mu.Lock()
		p.forgetful = false
		p.s.mu.Unlock()
		p.reconcile(h)
	}
}

// known is what this node knows of the part, if it is to be put back.
func (p *part) known() (m Memory, forgetful bool) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.forgetful {
		return Memory{}, false
	}
	m.Lease = s.lease
	for job, state := range s.memory.pauses {
		if s.partOf(job) == p {
			m.Pauses = append(m.Pauses, state)
		}
	}
	if p == s.oneOffPart() {
		m.Waiting, m.Past = slices.Collect(maps.Values(s.memory.waiting)), slices.Collect(maps.Keys(s.memory.past))
	}
	for _, l := range s.live {
		if !l.telling && s.partOf(l.job) == p { // else its record is on its way
			m.InFlight = append(m.InFlight, l.inFlight)
		}
	}
	return m, true
}

// restoreRun puts one run back, that the store turned out not to know, if that is because it has lost data. It waits
// for a heartbeat, which tells.
func (x *attempt) restoreRun(ctx context.Context, r *Run) bool {
	x.e.part.awaitHeartbeat(ctx)
	if !x.e.part.lostSince(r.Claimed) {
		return false
	}
	p := *x.p
	p.Owner = x.s.session
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return x.s.cfg.Store.Restore(ctx, Memory{InFlight: []InFlight{p}, Lease: x.s.lease}) == nil
}

// awaitHeartbeat waits until a heartbeat that was begun after this call has been answered, for two heartbeats and a
// call's time at most.
func (p *part) awaitHeartbeat(ctx context.Context) {
	p.s.mu.Lock()
	answered := p.answered
	p.s.mu.Unlock()
	timer := time.NewTimer(2*p.s.cfg.Heartbeat + storeTimeout)
	defer timer.Stop()
	for range 2 { // the first may have been under way
		select {
		case <-answered:
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		}
		p.s.mu.Lock()
		answered = p.answered
		p.s.mu.Unlock()
	}
}

// noteHeartbeat tells those who wait for a heartbeat.
func (p *part) noteHeartbeat() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.answers++
	p.rouse()
	close(p.answered)
	p.answered = make(chan struct{})
}
