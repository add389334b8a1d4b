package memstore

import (
	"context"
	"crypto/rand"
	"reflect"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// offer is that a session has a version of a definition.
type offer struct {
	version int64
	program string
	at      time.Time
}

// spec is what is known of the definitions of a job.
type spec struct {
	epoch   string
	timings []jobs.TimingPeriod
	defs    []jobs.VersionedDef
	offers  map[string]offer
	seen    time.Time // when an offer was made last
}

func (s *Store) Register(ctx context.Context, r jobs.Registration) (jobs.View, error) {
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
		return jobs.View{}, err
	}
	view, err := s.Look(ctx, names)
	for i := range view.Jobs {
		view.Jobs[i].Version, view.Jobs[i].Refused = versions[i], refused[i]
	}
	return view, err
}

// register treats one offer. It needs mu.
func (s *Store) register(r jobs.Registration, o jobs.Offer, now time.Time) (version int64, refused string) {
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
	j.spec.offers[r.Session] = offer{version, d.Program, now}
	j.spec.seen = now
	j.spec.enforce(j.from(), now)
	return version, ""
}

// from is the time after which ticks may be owed.
func (j *job) from() time.Time {
	if len(j.owed) > 0 {
		return j.owed[0].From
	}
	return j.cursor
}

// bothOwed is what two who know the same cursor say is owed: as long as it stays, less and less is.
func bothOwed(a, b []jobs.Span) (both []jobs.Span) {
	for _, s := range a {
		i := slices.IndexFunc(b, func(other jobs.Span) bool { return other.To.Equal(s.To) })
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
func (j *job) lift(known, now time.Time) {
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
func (m *spec) number(d jobs.Definition, known int64) int64 {
	top, taken := int64(0), false
	for _, v := range m.defs {
		if same(v.Definition, d) {
			return v.Version
		}
		top, taken = max(top, v.Version), taken || v.Version == known
	}
	if known == 0 || taken {
		known = top + 1
	}
	m.defs = append(m.defs, jobs.VersionedDef{Version: known, Definition: d})
	slices.SortFunc(m.defs, func(a, b jobs.VersionedDef) int { return int(a.Version - b.Version) })
	if m.offers == nil {
		m.offers = make(map[string]offer)
	}
	return known
}

// same compares definitions.
func same(a, b jobs.Definition) bool {
	keys := slices.Equal(a.Keys, b.Keys)
	a.Keys, b.Keys = nil, nil
	return keys && reflect.DeepEqual(a, b)
}

// enforce puts the newest definition that a session has in force, and drops what is not needed: nothing before
// from is owed.
func (m *spec) enforce(from, now time.Time) {
	top := int64(0)
	for _, o := range m.offers {
		top = max(top, o.version)
	}
	at := slices.IndexFunc(m.defs, func(d jobs.VersionedDef) bool { return d.Version == top })
	if timing := m.defs[at].Definition.Timing; len(m.timings) == 0 || m.timings[len(m.timings)-1].Timing != timing {
		since := now
		if len(m.timings) == 0 && !from.IsZero() {
			since = from
		}
		m.timings = append(m.timings, jobs.TimingPeriod{Since: since, Timing: timing})
		m.epoch = rand.Text()
	}
	for len(m.timings) > 1 && (!m.timings[1].Since.After(from) || len(m.timings) > jobs.KeptTimings) {
		m.timings = slices.Clone(m.timings[1:])
	}
	for len(m.defs) > jobs.KeptDefinitions && m.defs[0].Version != top {
		m.defs = m.defs[1:]
	}
}

// view needs mu.
func (m *spec) view(job string, cursor time.Time) jobs.JobSpec {
	spec := jobs.JobSpec{
		Job: job, Cursor: cursor, Epoch: m.epoch, Timings: slices.Clone(m.timings), Defs: slices.Clone(m.defs),
		Offers: make(map[string]int64, len(m.offers)),
	}
	for session, o := range m.offers {
		spec.Offers[session] = o.version
	}
	spec.Seen = m.seen
	return spec
}

func (s *Store) Epochs(ctx context.Context, names []string) ([]string, error) {
	epochs := make([]string, len(names))
	err := s.do(ctx, func(time.Time) error {
		for i, name := range names {
			if j := s.jobs[name]; j != nil {
				epochs[i] = j.spec.epoch
			}
		}
		return nil
	})
	return epochs, err
}

func (s *Store) Retire(ctx context.Context, job, epoch string) error {
	return s.do(ctx, func(time.Time) error {
		j := s.jobs[job]
		if j == nil || epoch == "" || j.spec.epoch != epoch {
			return jobs.ErrGone
		}
		since := j.spec.seen
		if j.cursor.After(since) {
			since = j.cursor
		}
		j.spec.timings = append(j.spec.timings, jobs.TimingPeriod{Since: since})
		j.spec.epoch = rand.Text()
		return nil
	})
}
