package ledger

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

const (
	// keptDefs is how many definitions of a job are remembered, so that an old one that comes back is known to be old.
	keptDefs = 8
	// keptTimings is how many changes of its timing are remembered before a job's cursor has passed them.
	keptTimings = 16
	// madeUpFor is for how long sessions may say that ticks are owed which were due before a cursor that the store made up.
	madeUpFor = time.Hour
)

// Spec is what is known of the definitions of a job.
type Spec struct {
	Epoch   string              `json:"-"`
	Timings []jobs.TimingPeriod `json:"timings"`
	Defs    []jobs.VersionedDef `json:"defs"`
	Offers  map[string]Offer    `json:"offers"` // by session
	Seen    time.Time           `json:"-"`      // when an offer was made last
}

// Offer is that a session has a version of a definition.
type Offer struct {
	Version int64     `json:"version"`
	Program string    `json:"program"`
	At      time.Time `json:"at"`
}

// IsKnown reports whether any session has ever registered the job.
func (m *Spec) IsKnown() bool { return len(m.Defs) > 0 }

// Register treats one offer of a registration. It needs the job.
func (s *State) Register(r *jobs.Registration, o *jobs.Offer, now time.Time) (version int64, refused string) {
	d := o.Definition
	if j := s.Jobs[d.Job]; j != nil {
		if refused = j.Spec.heldBy(r, d.Program, now); refused != "" {
			return 0, refused
		}
	}
	j := s.job(d.Job)
	if !d.Handler {
		before := j.Cursor
		if j.lift(o.Cursor, now); !j.Cursor.Equal(before) {
			j.Owed = slices.Clone(o.Owed)
		} else if o.OwedKnown && o.Cursor.Equal(j.Cursor) {
			j.Owed = j.bothOwed(o.Owed)
		} else if !o.Cursor.IsZero() && o.Cursor.Before(j.MadeUp) && now.Sub(j.MadeUp) < madeUpFor {
			j.oweBefore(o)
		}
		j.reachBack(before)
	}
	version = j.Spec.number(d, o.Version)
	if j.Spec.Offers == nil {
		j.Spec.Offers = make(map[string]Offer)
	}
	j.Spec.Offers[r.Session] = Offer{version, d.Program, now}
	j.Spec.Seen = now
	j.Spec.enforce(j.from(), now)
	return version, ""
}

// heldBy returns another program that has the job, "" if none does. Sessions that are dead lose their offers.
func (m *Spec) heldBy(r *jobs.Registration, program string, now time.Time) (other string) {
	for session, o := range m.Offers {
		if session != r.Session && !slices.Contains(r.Peers, session) && now.Sub(o.At) > r.Grace {
			delete(m.Offers, session)
		} else if o.Program != program {
			other = max(other, o.Program)
		}
	}
	return other
}

// from is the time after which ticks may be owed.
func (j *Job) from() time.Time {
	if len(j.Owed) > 0 {
		return j.Owed[0].From
	}
	return j.Cursor
}

// bothOwed is what the store and a session that knows its cursor say is owed: as long as that stays, less and less is. What
// was due before the store made the cursor up the session may not know.
func (j *Job) bothOwed(known []jobs.Span) (both []jobs.Span) {
	for _, s := range j.Owed {
		i := slices.IndexFunc(known, func(other jobs.Span) bool { return other.To.Equal(s.To) })
		switch {
		case i >= 0 && known[i].From.After(s.From):
			s.From = known[i].From
		case i < 0 && s.To.After(j.MadeUp):
			continue
		}
		both = append(both, s)
	}
	return both
}

// lift makes the cursor of a job what a session knows of it.
func (j *Job) lift(known, now time.Time) {
	madeUp := !j.MadeUp.IsZero() && j.MadeUp.Equal(j.Cursor)
	switch {
	case j.Cursor.IsZero() && known.IsZero():
		j.Cursor, j.MadeUp = now, now
	case j.Cursor.IsZero(), known.After(j.Cursor), madeUp && !known.IsZero():
		j.Cursor = known
	}
}

// oweBefore takes in what a session knows that comes after others have moved a cursor that the store had made up: what was
// due between its cursor and that one is owed. Of several sessions the one with the latest cursor is right.
func (j *Job) oweBefore(o *jobs.Offer) {
	i := slices.IndexFunc(j.Owed, func(s jobs.Span) bool { return s.To.Equal(j.MadeUp) })
	switch {
	case len(j.Spec.Timings) > 0 && j.Spec.Timings[0].Since.Equal(j.MadeUp):
		j.Owed = slices.Concat(o.Owed, []jobs.Span{{From: o.Cursor, To: j.MadeUp}}, j.Owed)
		j.reachBack(j.MadeUp)
	case i >= 0 && j.Owed[i].From.Before(o.Cursor):
		j.Owed = slices.Clone(j.Owed)
		j.Owed[i].From = o.Cursor
	}
}

// reachBack has the first timing begin where what is owed does, if it began with the cursor that the store made up.
func (j *Job) reachBack(before time.Time) {
	if t := j.Spec.Timings; len(t) > 0 && t[0].Since.Equal(j.MadeUp) && before.Equal(j.MadeUp) && j.from().Before(t[0].Since) {
		t[0].Since = j.from()
	}
}

// number returns the version of a definition, a new one if it is not known.
func (m *Spec) number(d jobs.Definition, known int64) int64 {
	text, top, taken := encode(d), int64(0), false
	for _, v := range m.Defs {
		if encode(v.Definition) == text {
			return v.Version
		}
		top, taken = max(top, v.Version), taken || v.Version == known
	}
	if known == 0 || taken {
		known = top + 1
	}
	m.Defs = append(m.Defs, jobs.VersionedDef{Version: known, Definition: d})
	slices.SortFunc(m.Defs, func(a, b jobs.VersionedDef) int { return int(a.Version - b.Version) })
	return known
}

// encode cannot fail: a definition is made of texts and numbers.
func encode(d jobs.Definition) string {
	text, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// newest is the version that is in force.
func (m *Spec) newest() (top int64) {
	for _, o := range m.Offers {
		top = max(top, o.Version)
	}
	return top
}

// enforce puts the newest definition that a session has in force, and drops what is not needed: nothing before
// from is owed.
func (m *Spec) enforce(from, now time.Time) {
	top := m.newest()
	at := slices.IndexFunc(m.Defs, func(d jobs.VersionedDef) bool { return d.Version == top })
	if timing := m.Defs[at].Definition.Timing; len(m.Timings) == 0 || m.Timings[len(m.Timings)-1].Timing != timing {
		since := now
		if len(m.Timings) == 0 && !from.IsZero() {
			since = from
		}
		m.Timings = append(m.Timings, jobs.TimingPeriod{Since: since, Timing: timing})
		m.Epoch = rand.Text()
	}
	for len(m.Timings) > 1 && (!m.Timings[1].Since.After(from) || len(m.Timings) > keptTimings) {
		m.Timings = slices.Clone(m.Timings[1:])
	}
	for len(m.Defs) > keptDefs && m.Defs[0].Version != top {
		m.Defs = m.Defs[1:]
	}
}

// Retire ends a job's timing. It needs the job.
func (s *State) Retire(job, epoch string) error {
	j := s.Jobs[job]
	if j == nil || epoch == "" || j.Spec.Epoch != epoch {
		return jobs.ErrGone
	}
	since := j.Spec.Seen
	if j.Cursor.After(since) {
		since = j.Cursor
	}
	j.Spec.Timings = append(j.Spec.Timings, jobs.TimingPeriod{Since: since})
	j.Spec.Epoch = rand.Text()
	return nil
}

// SearchText is what a search for the job looks into.
func (m *Spec) SearchText() string {
	top := m.newest()
	at := slices.IndexFunc(m.Defs, func(d jobs.VersionedDef) bool { return d.Version == top })
	return jobs.SearchText(&m.Defs[max(at, 0)].Definition)
}

// View is the job's state as a Store returns it, without its runs in flight.
func (j *Job) View(name string) jobs.JobView {
	v := jobs.JobView{Cursor: j.Cursor, Paused: j.Paused, Missed: j.Missed, Owed: slices.Clone(j.Owed)}
	v.Spec = jobs.JobSpec{
		Job: name, Cursor: j.Cursor, Epoch: j.Spec.Epoch, Seen: j.Spec.Seen,
		Timings: slices.Clone(j.Spec.Timings), Defs: slices.Clone(j.Spec.Defs), Offers: make(map[string]int64),
	}
	for session, o := range j.Spec.Offers {
		v.Spec.Offers[session] = o.Version
	}
	return v
}

// Clone returns a copy that shares no mutable data.
func (s *State) Clone() *State {
	c := &State{
		Jobs: make(map[string]*Job, len(s.Jobs)), InFlight: maps.Clone(s.InFlight), Alive: maps.Clone(s.Alive),
		Notices: maps.Clone(s.Notices), Waiting: maps.Clone(s.Waiting), Past: maps.Clone(s.Past),
		Failures: slices.Clone(s.Failures),
	}
	for name, j := range s.Jobs {
		own := *j
		own.Runs, own.Spec.Timings = slices.Clone(j.Runs), slices.Clone(j.Spec.Timings)
		own.Spec.Defs, own.Spec.Offers = slices.Clone(j.Spec.Defs), maps.Clone(j.Spec.Offers)
		c.Jobs[name] = &own
	}
	return c
}
