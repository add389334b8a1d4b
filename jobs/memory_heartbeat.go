package jobs

import (
	"maps"
	"slices"
)

// This file has what heartbeats ask of the memory, and tell it.

// acceptedIn are the versions of pauses and resumes that the next heartbeat in a part is to tell of, by job.
func (m *memory) acceptedIn(part int) map[string]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	accepted := maps.Clone(m.accepted)
	maps.DeleteFunc(accepted, func(job string, _ int64) bool { return m.partOf(job) != part })
	return accepted
}

// checkPauses returns a job of which the store does not know the pause or resume any more that it had taken before a
// heartbeat, "" if there is none.
func (m *memory) checkPauses(before map[string]int64, reply HeartbeatReply) (lost string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, state := range reply.Pauses {
		if version, wanted := m.accepted[state.Job]; wanted && state.Version >= version {
			delete(m.accepted, state.Job)
		}
	}
	for job, version := range before {
		if m.accepted[job] == version {
			delete(m.accepted, job)
			lost = job
		}
	}
	return lost
}

// believedWaiting are IDs of one-off jobs that this node remembers to wait, for a heartbeat to ask about: others may
// have withdrawn them. Of many each heartbeat asks about the next ones, in turn.
func (m *memory) believedWaiting() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := slices.Sorted(maps.Keys(m.waiting))
	if len(ids) <= askedWaiting {
		return ids
	}
	at, asked := slices.BinarySearch(ids, m.asked)
	if asked {
		at++
	}
	ids = append(ids[at:], ids[:at]...)[:askedWaiting]
	m.asked = ids[askedWaiting-1]
	return ids
}

// hear notes what a heartbeat has told, of the one-off jobs too if it was in their part.
func (m *memory) hear(reply HeartbeatReply, oneOffs bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, state := range reply.Pauses {
		m.heardPause(state)
	}
	if reply.Lost || !oneOffs {
		return // it does not tell of one-off jobs, or not of those that are to be put back
	}
	for _, id := range reply.Over {
		delete(m.waiting, id)
	}
	due := make(map[string]bool, len(reply.Due))
	for _, o := range reply.Due {
		if due[o.ID] = true; m.past[o.ID].IsZero() && len(m.waiting) < knownRuns {
			m.waiting[o.ID] = o
		}
	}
	for id, o := range m.waiting {
		if !due[id] && o.At.Before(reply.Now) {
			delete(m.waiting, id) // another node has claimed it
		}
	}
}
