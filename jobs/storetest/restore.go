package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

func testStamp(s *suite) {
	b := jobs.Heartbeat{Session: "o1", Node: jobs.Node{Name: "n", Session: "o1"}, Lease: time.Minute}
	for i := range 3 {
		p, err := s.store.Heartbeat(s.ctx, b)
		s.must(err)
		if p.Lost || p.Stamp == "" || p.Stamp == b.Stamp {
			s.Fatalf("heartbeat %d: %+v, want a new stamp, and nothing lost", i, p)
		}
		if i == 1 {
			s.heartbeat("o2", time.Minute)
			continue // as if the answer had not come
		}
		b.Stamp = p.Stamp
	}
}

func testRestore(s *suite) {
	s.register("j")
	s.pause("j", jobs.Pause{Author: "ada", At: s.now()})
	version := s.look("j").Paused.Version
	begun := pending("j", "b", "o1", s.now())
	begun.Run.Started, begun.Run.Fence = s.now(), 1<<60+1
	o := func(id string) jobs.OneOff { return jobs.OneOff{ID: id, Handler: "h", At: s.now().Add(time.Hour)} }
	s.must(s.store.Put(s.ctx, o("over")))
	m := jobs.Memory{
		Pauses:   []jobs.PauseState{{Job: "j", Version: version - 1}, {Job: "k", Version: 7, Pause: &jobs.Pause{Author: "bob", At: s.now()}}},
		InFlight: []jobs.InFlight{*begun, *pending("j", "a", "o1", s.now())},
		Waiting:  []jobs.OneOff{o("x"), o("over"), o("gone")}, Past: []string{"over", "gone"}, Lease: time.Minute,
	}
	for range 2 {
		s.must(s.store.Restore(s.ctx, m))
	}
	if v := s.look("j"); v.Paused == nil || v.Paused.Author != "ada" || len(v.InFlight) != 2 {
		s.Fatalf("j = %+v, want ada's pause, which is the newer one, and two runs", v)
	} else if p := v.InFlight[slices.IndexFunc(v.InFlight, func(p jobs.InFlight) bool { return p.Run.ID == begun.Run.ID })]; p.Owner != "o1" || !p.Run.Started.Equal(begun.Run.Started) || p.Run.Fence != begun.Run.Fence {
		s.Fatalf("in flight = %+v, want %+v", p, begun)
	}
	if v := s.look("k"); v.Paused == nil || v.Paused.Author != "bob" || v.Paused.Version != 7 {
		s.Fatalf("k = %+v, want bob's pause", v)
	}
	waiting, err := s.store.Waiting(s.ctx, 10)
	s.must(err)
	if len(waiting) != 1 || waiting[0].ID != "x" {
		s.Fatalf("waiting = %+v, want x alone", waiting)
	}
	if p := s.heartbeat("o2", time.Minute); len(p.Orphans) != 0 || len(p.Pauses) != 2 {
		s.Fatalf("reply = %+v, want no orphans, since their owner has said what it has, and two pauses", p)
	}
	m = jobs.Memory{Pauses: []jobs.PauseState{{Job: "j", Version: version + 1}}}
	s.must(s.store.Restore(s.ctx, m))
	if v := s.look("j"); v.Paused != nil {
		s.Fatalf("paused = %+v, want it resumed, which is newer", v.Paused)
	}
}

func testRetire(s *suite) {
	v := s.registered(timed("a", "j", "1 * * * *", "a"))
	if err := s.store.Retire(s.ctx, "j", "x"); !errors.Is(err, jobs.ErrGone) {
		s.Fatalf("Retire in another epoch = %v, want ErrGone", err)
	}
	seen := s.now()
	s.must(s.store.Retire(s.ctx, "j", v.Spec.Epoch))
	now := s.look("j").Spec
	if n := len(now.Timings); n == 0 || now.Timings[n-1].Timing != (jobs.Timing{}) || now.Timings[n-1].Since.After(seen) || now.Epoch == v.Spec.Epoch {
		s.Fatalf("spec = %+v, want no timing in force since it was seen last", now)
	}
	if back := s.registered(timed("b", "j", "1 * * * *", "b")); back.Spec.Timings[len(back.Spec.Timings)-1].Timing.Spec != "1 * * * *" {
		s.Fatalf("registered again: %+v, want it in force", back)
	}
}
