package jobs

import (
	"context"
	"crypto/rand"
	"slices"
	"time"
)

const (
	// keptDefs is how many definitions of a job are remembered, so that an old one that comes back is known to be old.
	keptDefs = 8
	// keptTimings is how many changes of its timing are remembered before a job's cursor has passed them.
	keptTimings = 16
)

// memoryOffer is that a session has a version of a definition.
type memoryOffer struct {
	version int64
	program string
	at      time.Time
}

// memorySpec is what is known of the definitions of a job.
type memorySpec struct {
	epoch   string
	timings []TimingPeriod
	defs    []VersionedDef
	offers  map[string]memoryOffer
	seen    time.Time // when an offer was made last
}

func (s *memoryStore) Register(ctx context.Context, r Registration) (View, error) {
	names, versions, refused := make([]string, len(r.Offers)), make([]int64, len(r.Offers)),
		make([]string, len(r.Offers))
	err := s.do(ctx, func(now time.Time) error {
		for i, o := range r.Offers {
			names[i] = o.Definition.Job
			versions[i], refused[i] = s.register(r, o, now)
		}
		return nil
	})
	if err != nil {
		return View{}, err
	}
	view, err := s.Look(ctx, names)
	for i := range view.Jobs {
		view.Jobs[i].Version, view.Jobs[i].Refused = versions[i], refused[i]
	}
	return view, err
}

// register treats one offer. It needs mu.
func (s *memoryStore) register(r Registration, o Offer, now time.Time) (version int64, refused string) {
	d := o.Definition
	j := s.jobs[d.Job]
	if j != nil {
		for session, other := range j.spec.offers {
			if session != r.Session && !slices.Contains(r.Peers, session) && now.Sub(other.at) > r.Grace {
				delete(j.spec.offers, session)
			} else if other.program != d.Program {
				refused = max(refused, other.program)
			}
		}
	}
	if refused != "" {
		return 0, refused
	}
	j = s.job(d.Job)
	if !d.Handler {
		before := j.cursor
		if j.lift(o.Cursor, now); !j.cursor.Equal(before) {
			j.owed = slices.Clone(o.Owed)
		} else if o.OwedKnown && o.Cursor.Equal(j.cursor) {
			j.owed = bothOwed(j.owed, o.Owed)
		}
	}
	version = j.spec.number(d, o.Version)
	j.spec.offers[r.Session] = memoryOffer{version, d.Program, now}
	j.spec.seen = now
	j.spec.enforce(j.from(), now)
	return version, ""
}

// from is the time after which ticks may be owed.
func (j *memoryJob) from() time.Time {
	if len(j.owed) > 0 {
		return j.owed[0].From
	}
	return j.cursor
}

// bothOwed is what two who know the same cursor say is owed: as long as it stays, less and less is.
func bothOwed(a, b []Span) (both []Span) {
	for _, s := range a {
		i := slices.IndexFunc(b, func(other Span) bool { return other.To.Equal(s.To) })
		if i < 0 {
			continue
		}
		if b[i].From.After(s.From) {
			s.From = b[i].From
		}
		both = append(both, s)
	}
	return both
}

// lift makes the cursor of a job what a session knows of it.
func (j *memoryJob) lift(known, now time.Time) {
	madeUp := !j.madeUp.IsZero() && j.madeUp.Equal(j.cursor)
	switch {
	case j.cursor.IsZero() && known.IsZero():
		j.cursor, j.madeUp = now, now
	case j.cursor.IsZero(), known.After(j.cursor):
		j.cursor = known
	case madeUp && !known.IsZero():
		if len(j.spec.timings) > 0 && j.spec.timings[0].Since.Equal(j.cursor) {
			j.spec.timings[0].Since = known
		}
		j.cursor = known
	}
}

// number returns the version of a definition, a new one if it is not known.
func (m *memorySpec) number(d Definition, known int64) int64 {
	text, top, taken := encodeJSON(d), int64(0), false
	for _, v := range m.defs {
		if encodeJSON(v.Definition) == text {
			return v.Version
		}
		top, taken = max(top, v.Version), taken || v.Version == known
	}
	if known == 0 || taken {
		known = top + 1
	}
	m.defs = append(m.defs, VersionedDef{known, d})
	slices.SortFunc(m.defs, func(a, b VersionedDef) int { return int(a.Version - b.Version) })
	if m.offers == nil {
		m.offers = make(map[string]memoryOffer)
	}
	return known
}

// enforce puts the newest definition that a session has in force, and forgets what is of no more use: nothing before
// from is owed.
func (m *memorySpec) enforce(from, now time.Time) {
	top := int64(0)
	for _, o := range m.offers {
		top = max(top, o.version)
	}
	at := slices.IndexFunc(m.defs, func(d VersionedDef) bool { return d.Version == top })
	if timing := m.defs[at].Definition.Timing; len(m.timings) == 0 || m.timings[len(m.timings)-1].Timing != timing {
		since := now
		if len(m.timings) == 0 && !from.IsZero() {
			since = from
		}
		m.timings = append(m.timings, TimingPeriod{Since: since, Timing: timing})
		m.epoch = rand.Text()
	}
	for len(m.timings) > 1 && (!m.timings[1].Since.After(from) || len(m.timings) > keptTimings) {
		m.timings = slices.Clone(m.timings[1:])
	}
	for len(m.defs) > keptDefs && m.defs[0].Version != top {
		m.defs = m.defs[1:]
	}
}

// view needs mu.
func (m *memorySpec) view(job string, cursor time.Time) JobSpec {
	spec := JobSpec{
		Job: job, Cursor: cursor, Epoch: m.epoch, Timings: slices.Clone(m.timings), Defs: slices.Clone(m.defs),
		Offers: make(map[string]int64, len(m.offers)),
	}
	for session, o := range m.offers {
		spec.Offers[session] = o.version
	}
	spec.Seen = m.seen
	return spec
}

func (s *memoryStore) Epochs(ctx context.Context, jobs []string) ([]string, error) {
	epochs := make([]string, len(jobs))
	err := s.do(ctx, func(time.Time) error {
		for i, name := range jobs {
			if j := s.jobs[name]; j != nil {
				epochs[i] = j.spec.epoch
			}
		}
		return nil
	})
	return epochs, err
}

func (s *memoryStore) Retire(ctx context.Context, job, epoch string) error {
	return s.do(ctx, func(time.Time) error {
		j := s.jobs[job]
		if j == nil || epoch == "" || j.spec.epoch != epoch {
			return ErrGone
		}
		since := j.spec.seen
		if j.cursor.After(since) {
			since = j.cursor
		}
		j.spec.timings = append(j.spec.timings, TimingPeriod{Since: since})
		j.spec.epoch = rand.Text()
		return nil
	})
}
