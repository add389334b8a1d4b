package memstore

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// Heartbeat implements [jobs.Store].
func (s *Store) Heartbeat(ctx context.Context, b jobs.Heartbeat) (reply jobs.HeartbeatReply, err error) {
	err = s.do(ctx, func(now time.Time) error {
		b.Node.Heartbeat = now
		s.nodes[b.Session] = b.Node
		s.state.Alive[b.Session] = now.Add(b.Lease)
		reply.Now = now
		s.compareStamp(b, &reply)
		for session, n := range s.nodes {
			if now.Sub(n.Heartbeat) <= b.Lease {
				reply.Peers = append(reply.Peers, session)
			}
		}
		s.tellRuns(b.Session, &reply, now)
		for _, o := range s.state.Waiting {
			if !o.At.After(now.Add(b.Horizon)) {
				reply.Due = append(reply.Due, o)
			}
		}
		for _, id := range b.Waiting {
			if _, waits := s.state.Waiting[id]; !waits {
				reply.Over = append(reply.Over, id)
			}
		}
		return nil
	})
	slices.Sort(reply.Peers)
	slices.SortFunc(reply.Due, jobs.OneOff.Compare)
	slices.SortFunc(reply.Orphans, func(a, b jobs.InFlight) int { return a.Run.Tick.Compare(b.Run.Tick) })
	return reply, err
}

// tellRuns tells a session of its runs, of orphans, and of notices, and forgets what is of no more use. It needs mu.
func (s *Store) tellRuns(session string, reply *jobs.HeartbeatReply, now time.Time) {
	owners := map[string]bool{session: true}
	for _, p := range s.state.InFlight {
		owners[p.Owner] = true
		switch {
		case p.Owner == session:
			reply.Held++
		case !s.state.Alive[p.Owner].After(now):
			reply.Orphans = append(reply.Orphans, p)
		}
	}
	maps.DeleteFunc(s.state.Alive, func(other string, until time.Time) bool { return !until.After(now) && !owners[other] })
	for id, n := range s.state.Notices {
		p, inFlight := s.state.InFlight[id]
		if now.Sub(n.At) > jobs.NoticeRetention && !inFlight {
			delete(s.state.Notices, id)
		} else if n.Owner == session || n.Owner == "" && p.Owner == session {
			reply.Notices = append(reply.Notices, n.Notice)
		}
	}
}

// compareStamp looks whether the store knows of the session's last heartbeat, and notes this one. A stamp is what tells
// this store from one that forgot, and the number of the heartbeat: the clock may be set back. It needs mu.
func (s *Store) compareStamp(b jobs.Heartbeat, reply *jobs.HeartbeatReply) {
	if stamp, count, ok := strings.Cut(b.Stamp, " "); ok {
		n, _ := strconv.Atoi(count) // it is of our own making
		reply.Lost = stamp != s.stamp || s.heartbeats[b.Session] < n
	}
	s.heartbeats[b.Session]++
	reply.Stamp = s.stamp + " " + strconv.Itoa(s.heartbeats[b.Session])
	for _, name := range s.sorted() {
		if j := s.state.Jobs[name]; j.Switched != 0 {
			reply.Pauses = append(reply.Pauses, jobs.PauseState{Job: name, Version: j.Switched, Pause: j.Paused})
		}
	}
}

// Leave implements [jobs.Store].
func (s *Store) Leave(ctx context.Context, session string) error {
	return s.do(ctx, func(time.Time) error {
		delete(s.nodes, session)
		delete(s.state.Alive, session)
		delete(s.heartbeats, session)
		return nil
	})
}

// Flush deletes all data, like a server that restarts without its data. It is for tests.
func (s *Store) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(NewAt(s.now))
}

// Snapshot returns a function that resets the store to its present state. It is for tests.
func (s *Store) Snapshot() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := NewAt(s.now)
	old.keep(s)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.keep(old)
	}
}

// keep makes the store a copy of another. It needs mu of both.
func (s *Store) keep(other *Store) {
	s.state, s.nodes, s.heartbeats = other.state.Clone(), maps.Clone(other.nodes), maps.Clone(other.heartbeats)
	s.stamp, s.names = other.stamp, nil
}
