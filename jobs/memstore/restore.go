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

// compareStamp looks whether the store knows of the session's last heartbeat, and notes this one. A stamp is what tells
// this store from one that forgot, and the time of the heartbeat. It needs mu.
func (s *Store) compareStamp(b jobs.Heartbeat, p *jobs.HeartbeatReply, now time.Time) {
	if stamp, at, ok := strings.Cut(b.Stamp, " "); ok {
		n, _ := strconv.ParseInt(at, 10, 64) // it is of our own making
		p.Lost = stamp != s.stamp || s.heartbeats[b.Session].Before(time.UnixMicro(n))
	}
	s.heartbeats[b.Session] = now
	p.Stamp = s.stamp + " " + strconv.FormatInt(now.UnixMicro(), 10)
	for _, name := range slices.Sorted(maps.Keys(s.jobs)) {
		if j := s.jobs[name]; j.switched != 0 {
			p.Pauses = append(p.Pauses, jobs.PauseState{Job: name, Version: j.switched, Pause: j.paused})
		}
	}
}

func (s *Store) Restore(ctx context.Context, m jobs.Memory) error {
	return s.do(ctx, func(now time.Time) error {
		for _, p := range m.Pauses {
			if j := s.job(p.Job); p.Version > j.switched {
				if j.switched, j.paused = p.Version, nil; p.Pause != nil {
					paused := *p.Pause
					paused.Version, j.paused = p.Version, &paused
				}
			}
		}
		for _, p := range m.InFlight {
			if s.flights[p.Run.ID] == nil {
				s.hold(p, now, m.Lease)
			}
		}
		for _, o := range m.Waiting {
			if _, waits := s.waiting[o.ID]; !waits && s.past[o.ID].IsZero() {
				s.waiting[o.ID] = o
			}
		}
		for _, id := range m.Past {
			delete(s.waiting, id)
			if s.past[id].IsZero() {
				s.past[id] = now
			}
		}
		return nil
	})
}

// Flush forgets all, as a server does that is started again without its data; tests use it.
func (s *Store) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(NewAt(s.now))
}

// Snapshot returns a function that takes the store back to what it is at present; tests use it.
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
	s.jobs, s.names = make(map[string]*job, len(other.jobs)), nil
	for name, j := range other.jobs {
		own := *j
		own.runs, own.spec.timings, own.spec.defs = slices.Clone(j.runs), slices.Clone(j.spec.timings),
			slices.Clone(j.spec.defs)
		own.spec.offers = maps.Clone(j.spec.offers)
		s.jobs[name] = &own
	}
	s.flights = make(map[string]*jobs.InFlight, len(other.flights))
	for id, p := range other.flights {
		own := *p
		s.flights[id] = &own
	}
	s.alive, s.notices, s.waiting = maps.Clone(other.alive), maps.Clone(other.notices), maps.Clone(other.waiting)
	s.past, s.nodes, s.heartbeats, s.stamp = maps.Clone(other.past), maps.Clone(other.nodes), maps.Clone(other.heartbeats),
		other.stamp
}
