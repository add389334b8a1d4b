package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

func testHeartbeat(s *suite) {
	s.claim(s.next("j", "a"), jobs.ClaimWon)
	s.claim(s.next("k", "a"), jobs.ClaimWon)
	before := s.now()
	p := s.heartbeat("o1", time.Minute)
	if p.Held != 2 || len(p.Orphans) != 0 || p.Now.Before(before) || !slices.Equal(p.Peers, []string{"o1"}) {
		s.Fatalf("reply of the owner = %+v, want its two runs", p)
	}
	if p := s.heartbeat("o2", time.Minute); p.Held != 0 || len(p.Orphans) != 0 || !slices.Equal(p.Peers, []string{"o1", "o2"}) {
		s.Fatalf("reply of another = %+v, want no orphans, and both as peers", p)
	}
	s.heartbeat("o1", 0)
	p = s.heartbeat("o2", time.Minute)
	if len(p.Orphans) != 2 || p.Orphans[0].Owner != "o1" || p.Orphans[0].Locker != "L" {
		s.Fatalf("orphans = %+v, want the two of o1", p.Orphans)
	}
	if p := s.heartbeat("o1", time.Minute); p.Held != 2 || len(p.Orphans) != 0 {
		s.Fatalf("reply of the owner that is back = %+v, want its two runs", p)
	}
	if p := s.heartbeat("o2", time.Minute); len(p.Orphans) != 0 {
		s.Fatalf("orphans = %+v, want none: their owner is back", p.Orphans)
	}
}

func testHeartbeatWaiting(s *suite) {
	for _, id := range []string{"waits", "withdrawn"} {
		s.must(s.store.Put(s.ctx, jobs.OneOff{ID: id, Handler: "h", At: s.now().Add(time.Hour)}))
	}
	s.must(s.store.Withdraw(s.ctx, "withdrawn"))
	reply, err := s.store.Heartbeat(s.ctx, jobs.Heartbeat{
		Part: s.store.PartOf(jobs.HandlerPrefix), Session: "o1", Lease: time.Minute,
		Waiting: []string{"waits", "withdrawn", "unknown"},
	})
	s.must(err)
	if want := []string{"withdrawn", "unknown"}; !slices.Equal(reply.Over, want) {
		s.Fatalf("of three one-off jobs %q are over, want %q", reply.Over, want)
	}
}

// Of many that nobody takes, none keeps others from being told: within some heartbeats all are.
const (
	many           = 2600
	manyHeartbeats = 20
)

func testHeartbeatOrphans(s *suite) {
	m := jobs.Memory{Lease: time.Minute}
	for i := range many {
		m.InFlight = append(m.InFlight, *pending(jobs.HandlerPrefix+"gone", fmt.Sprint(i), "dead", s.now()))
	}
	s.must(s.store.Restore(s.ctx, m))
	s.must(s.store.Leave(s.ctx, "dead"))
	told := make(map[string]bool)
	s.inTurn(told, func(reply jobs.HeartbeatReply) {
		for _, p := range reply.Orphans {
			told[p.Run.ID] = true
		}
	})
}

func testHeartbeatDue(s *suite) {
	var m jobs.Memory
	for i := range many { // those of one time too
		at := s.now().Add(time.Duration(i/700) * time.Microsecond)
		m.Waiting = append(m.Waiting, jobs.OneOff{ID: fmt.Sprint(i), Handler: "gone", At: at})
	}
	s.must(s.store.Restore(s.ctx, m))
	told := make(map[string]bool)
	s.inTurn(told, func(reply jobs.HeartbeatReply) {
		if !slices.IsSortedFunc(reply.Due, jobs.OneOff.Compare) {
			s.Error("one-off jobs are not told in their order")
		}
		for _, o := range reply.Due {
			told[o.ID] = true
		}
	})
}

// inTurn gives heartbeats of two sessions until one has been told of all.
func (s *suite) inTurn(told map[string]bool, hear func(jobs.HeartbeatReply)) {
	s.Helper()
	part := s.store.PartOf(jobs.HandlerPrefix)
	for range manyHeartbeats {
		for _, session := range []string{"o1", "o2"} {
			reply, err := s.store.Heartbeat(s.ctx, jobs.Heartbeat{Part: part, Session: session, Lease: time.Minute, Horizon: time.Minute})
			if s.must(err); session == "o1" {
				hear(reply)
			}
		}
		if len(told) == many {
			return
		}
	}
	s.Errorf("in %d heartbeats a session was told of %d of %d", manyHeartbeats, len(told), many)
}

func testNotices(s *suite) {
	c := s.next("j", "a")
	n := jobs.Notice{Job: "j", ID: c.InFlight.Run.ID, At: s.now(), Author: "ada", Reason: "too <slow>"}
	if err := s.store.Cancel(s.ctx, n); !errors.Is(err, jobs.ErrGone) {
		s.Fatalf("Cancel of a run that is not in flight = %v, want ErrGone", err)
	}
	s.claim(c, jobs.ClaimWon)
	s.must(s.store.Cancel(s.ctx, n))
	if p := s.heartbeat("o2", time.Minute); len(p.Notices) != 0 {
		s.Fatalf("notices of another session = %+v, want none", p.Notices)
	}
	for range 2 {
		p := s.heartbeat("o1", time.Minute)
		if len(p.Notices) != 1 || p.Notices[0].ID != n.ID || p.Notices[0].Author != "ada" || p.Notices[0].Reason != n.Reason {
			s.Fatalf("notices = %+v, want %+v", p.Notices, n)
		}
	}
	r := c.InFlight.Run
	r.Outcome = jobs.OutcomeCancelled
	wantCancelled(s, "Finish", s.finish(jobs.Finish{Run: r, Owner: "o1", Keep: 3}))
	if p := s.heartbeat("o1", time.Minute); len(p.Notices) != 0 {
		s.Fatalf("notices after the run = %+v, want none", p.Notices)
	}
}

func wantCancelled(s *suite, call string, err error) {
	s.Helper()
	var cancelled *jobs.CancelledError
	if !errors.As(err, &cancelled) || cancelled.Notice.Author != "ada" {
		s.Fatalf("%s of a run that ada wants to end = %v, want a CancelledError", call, err)
	}
}

func testCancelled(s *suite) {
	for _, skip := range []bool{false, true} {
		c := s.next("j", fmt.Sprint("a", skip))
		s.claim(c, jobs.ClaimWon)
		r := c.InFlight.Run
		s.must(s.store.Cancel(s.ctx, jobs.Notice{Job: "j", ID: r.ID, At: s.now(), Author: "ada", Reason: "no"}))
		wantCancelled(s, "Start", s.start(jobs.Start{Run: r, Owner: "o1", Lease: time.Minute}))
		if v := s.look("j"); len(v.InFlight) != 1 || !v.InFlight[0].Run.Started.IsZero() {
			s.Fatalf("in flight = %+v, want the run, not begun", v.InFlight)
		}
		if r.Outcome = jobs.OutcomeError; skip {
			r.Outcome = jobs.OutcomeSkipped // it might share a record otherwise
		}
		retry := pending("j", fmt.Sprint("b", skip), "o1", c.Tick)
		wantCancelled(s, "Finish", s.finish(jobs.Finish{Run: r, Owner: "o1", Next: retry, Lease: time.Minute, Keep: 9}))
		runs := s.runs("j")
		if v := s.look("j"); len(v.InFlight) != 0 || runs[0].ID != r.ID || runs[0].Outcome != r.Outcome {
			s.Fatalf("in flight %+v, records %+v; want no retry", v.InFlight, runs)
		}
		if asked := runs[0].CancelAsked; asked == nil || asked.Author != "ada" || asked.Reason != "no" {
			s.Fatalf("record %+v, want it to say that ada asked", runs[0])
		}
	}
}

func testLeave(s *suite) {
	s.heartbeat("o1", time.Hour)
	s.claim(s.next("j", "a"), jobs.ClaimWon)
	s.must(s.store.Leave(s.ctx, "o1"))
	s.must(s.store.Leave(s.ctx, "o1"))
	if p := s.heartbeat("o2", time.Minute); len(p.Orphans) != 1 || !slices.Equal(p.Peers, []string{"o2"}) {
		s.Fatalf("reply after the owner left = %+v, want its run as an orphan", p)
	}
	nodes, err := s.store.Nodes(s.ctx)
	s.must(err)
	if len(nodes) != 1 || nodes[0].Session != "o2" {
		s.Fatalf("nodes = %+v, want o2 alone", nodes)
	}
}

func testNodes(s *suite) {
	before := s.now()
	started := before.Add(-time.Hour)
	for _, name := range []string{"b", "a"} {
		_, err := s.store.Heartbeat(s.ctx, jobs.Heartbeat{Session: "session-" + name, Lease: time.Minute, Node: jobs.Node{
			Name: name, Session: "session-" + name, Started: started, ClockOffset: -3 * time.Minute, Jobs: 7, Running: 2, Draining: name == "a",
		}})
		s.must(err)
	}
	nodes, err := s.store.Nodes(s.ctx)
	s.must(err)
	if len(nodes) != 2 || nodes[0].Name != "a" || nodes[1].Name != "b" {
		s.Fatalf("nodes = %+v, want a and b", nodes)
	}
	n := nodes[0]
	if n.Heartbeat.Before(before) || n.Heartbeat.After(s.now()) || !n.Started.Equal(started) || !n.Draining {
		s.Fatalf("node = %+v, want the time of its heartbeat, and it draining", n)
	}
	if n.ClockOffset != -3*time.Minute || n.Jobs != 7 || n.Running != 2 {
		s.Fatalf("node = %+v, want what it said of itself", n)
	}
}
