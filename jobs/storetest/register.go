package storetest

import (
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// timed is the registration of one job with a spec.
func timed(session, job, spec string, peers ...string) jobs.Registration {
	return jobs.Registration{Session: session, Peers: peers, Offers: []jobs.Offer{{
		Definition: jobs.Definition{Job: job, Program: "p", Timing: jobs.Timing{Spec: spec, Zone: "UTC"}},
	}}}
}

func (s *suite) registered(r jobs.Registration) jobs.JobView {
	s.Helper()
	v, err := s.store.Register(s.ctx, r)
	s.must(err)
	if len(v.Jobs) != len(r.Offers) {
		s.Fatalf("Register of %d jobs told of %d", len(r.Offers), len(v.Jobs))
	}
	return v.Jobs[0]
}

func testVersions(s *suite) {
	for i, r := range []struct {
		session, spec string
		known, want   int64
	}{
		{"a", "1 * * * *", 0, 1}, {"b", "1 * * * *", 0, 1}, {"c", "2 * * * *", 0, 2}, {"d", "1 * * * *", 0, 1}, // an old one comes back
		{"e", "3 * * * *", 7, 7}, {"f", "4 * * * *", 2, 8}, // known from before, and taken meanwhile
	} {
		offer := timed(r.session, "j", r.spec, "a", "b", "c", "d", "e", "f")
		offer.Offers[0].Version = r.known
		if v := s.registered(offer); v.Version != r.want {
			s.Fatalf("registration %d has version %d, want %d", i, v.Version, r.want)
		}
	}
	spec := s.look("j").Spec
	if len(spec.Defs) != 4 || spec.Offers["d"] != 1 || spec.Offers["f"] != 8 {
		s.Fatalf("Look = %+v, want four definitions, of six sessions", spec)
	}
	if d := spec.Defs[3]; d.Version != 8 || d.Definition.Spec != "4 * * * *" || d.Definition.Program != "p" || spec.Cursor.IsZero() {
		s.Fatalf("the newest definition = %+v, cursor %s", d, spec.Cursor)
	}
}

func testInForce(s *suite) {
	inForce := func(v jobs.JobView) string {
		s.Helper()
		if len(v.Spec.Timings) == 0 || v.Spec.Epoch == "" {
			s.Fatalf("Register = %+v, want a line and an epoch", v)
		}
		return v.Spec.Timings[len(v.Spec.Timings)-1].Timing.Spec
	}
	before := s.registered(timed("old", "j", "1 * * * *", "old"))
	if inForce(before) != "1 * * * *" || !before.Spec.Timings[0].Since.Equal(before.Cursor) {
		s.Fatalf("the first definition: %+v, want it in force from the cursor on", before)
	}
	asked := s.now()
	changed := s.registered(timed("new", "j", "2 * * * *", "old", "new"))
	if inForce(changed) != "2 * * * *" || changed.Spec.Epoch == before.Spec.Epoch || len(changed.Spec.Timings) != 2 ||
		changed.Spec.Timings[1].Since.Before(asked) || changed.Spec.Timings[1].Since.After(s.now()) || !changed.Cursor.Equal(before.Cursor) {
		s.Fatalf("a newer definition: %+v, want it in force from now on, after the old one", changed)
	}
	epochs, err := s.store.Epochs(s.ctx, []string{"nobody's", "j"})
	if s.must(err); len(epochs) != 2 || epochs[0] != "" || epochs[1] != changed.Spec.Epoch {
		s.Fatalf("Epochs = %q, want none, and %q", epochs, changed.Spec.Epoch)
	}
	again := s.registered(timed("old2", "j", "1 * * * *", "old", "new", "old2"))
	if inForce(again) != "2 * * * *" || again.Spec.Epoch != changed.Spec.Epoch {
		s.Fatalf("an old definition once more: %+v, want the newer one still in force", again)
	}
	gone := s.registered(timed("old2", "j", "1 * * * *", "old", "old2")) // new has died; the registration allows no grace
	if inForce(gone) != "1 * * * *" || gone.Spec.Epoch == changed.Spec.Epoch || len(gone.Spec.Timings) != 3 {
		s.Fatalf("when the newer one's session is dead: %+v, want the old one in force again", gone)
	}
	r := timed("old", "j", "1 * * * *", "old", "old2")
	r.Offers[0].Cursor = s.now()
	if v := s.registered(r); len(v.Spec.Timings) != 1 || v.Spec.Epoch != gone.Spec.Epoch {
		s.Fatalf("with the cursor past all changes: %+v, want only the last timing remembered", v.Spec)
	}
}

func testLift(s *suite) {
	v := s.registered(timed("a", "j", "1 * * * *", "a", "b"))
	earlier, later := v.Cursor.Add(-time.Minute), v.Cursor.Add(time.Minute)
	lift := func(known, want time.Time) {
		s.Helper()
		r := timed("b", "j", "1 * * * *", "a", "b")
		r.Offers[0].Cursor = known
		if v = s.registered(r); !v.Cursor.Equal(want) {
			s.Fatalf("cursor %s after a registration that knows of %s, want %s", v.Cursor, known, want)
		}
	}
	lift(earlier, earlier) // the store's was made up
	if !v.Spec.Timings[0].Since.Equal(earlier) {
		s.Fatalf("the timing is in force since %s, want %s, as the cursor", v.Spec.Timings[0].Since, earlier)
	}
	lift(earlier.Add(-time.Minute), earlier)
	lift(later, later)
	lift(earlier, later)
	r := timed("c", "k", "1 * * * *")
	r.Offers[0].Cursor = earlier
	if v := s.registered(r); !v.Cursor.Equal(earlier) {
		s.Fatalf("cursor %s of an unknown job that a session knows, want %s", v.Cursor, earlier)
	}
}

// testOweBefore has a session register a job that an empty store does not know, and claim a tick of it, before others tell
// how far the job was.
func testOweBefore(s *suite) {
	made := s.registered(timed("new", "j", "1 * * * *")).Cursor
	moved := made.Add(time.Microsecond)
	claimed := s.store.Claim(s.ctx, []jobs.Claim{{Job: "j", Prev: made, Tick: moved, Due: moved, Lease: time.Minute, Keep: 10}})[0]
	if s.must(claimed.Err); claimed.Status != jobs.ClaimWon {
		s.Fatalf("a claim from the made-up cursor: %+v", claimed)
	}
	offer := func(session string, cursor time.Time, owed []jobs.Span, want ...jobs.Span) {
		s.Helper()
		r := timed(session, "j", "1 * * * *")
		r.Offers[0].Cursor, r.Offers[0].Owed, r.Offers[0].OwedKnown = cursor, owed, true
		v := s.registered(r)
		same := slices.EqualFunc(v.Owed, want, func(a, b jobs.Span) bool { return a.From.Equal(b.From) && a.To.Equal(b.To) })
		if !v.Cursor.Equal(moved) || !same || v.Spec.Timings[0].Since.After(want[0].From) {
			s.Fatalf("%s offers the cursor %s: %+v, want the cursor %s, owed %v since then", session, cursor, v, moved, want)
		}
	}
	old, behind := made.Add(-time.Hour), made.Add(-time.Minute)
	before := jobs.Span{From: old, To: old.Add(time.Minute)}
	offer("a", behind, []jobs.Span{before}, before, jobs.Span{From: behind, To: made})
	offer("new", moved, nil, before, jobs.Span{From: behind, To: made}) // it cannot know
	offer("b", behind.Add(-time.Second), nil, before, jobs.Span{From: behind, To: made})
	offer("c", behind.Add(time.Second), nil, before, jobs.Span{From: behind.Add(time.Second), To: made})
}

func testRefused(s *suite) {
	ours := timed("a", "j", "1 * * * *", "a", "b")
	theirs := timed("b", "j", "2 * * * *", "a", "b")
	theirs.Offers[0].Definition.Program = "q"
	first := s.registered(ours)
	if v := s.registered(theirs); v.Refused != "p" || v.Spec.Epoch != first.Spec.Epoch || len(v.Spec.Offers) != 1 {
		s.Fatalf("the offer of another program: %+v, want it refused for p", v)
	}
	theirs.Peers = []string{"b"} // a is dead
	if v := s.registered(theirs); v.Refused != "" || v.Spec.Epoch == first.Spec.Epoch {
		s.Fatalf("the offer of another program, with ours dead: %+v, want it taken", v)
	}
}

func testRegisterHandler(s *suite) {
	r := jobs.Registration{Session: "a", Offers: []jobs.Offer{{Definition: jobs.Definition{Job: "one-off:h", Handler: true}}}}
	if v := s.registered(r); !v.Cursor.IsZero() || v.Version != 1 {
		s.Fatalf("Register of a handler = %+v, want it known without a cursor", v)
	}
}

func testClaimStale(s *suite) {
	old := s.registered(timed("a", "j", "1 * * * *", "a", "b"))
	s.registered(timed("b", "j", "2 * * * *", "a", "b"))
	c := s.next("j", "x")
	c.Epoch = old.Spec.Epoch
	s.claim(c, jobs.ClaimStale)
	c.Epoch = s.look("j").Spec.Epoch
	s.claim(c, jobs.ClaimWon)
}
