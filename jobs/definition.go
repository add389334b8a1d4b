package jobs

import (
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/lockgen/lockgen/internal/cronspec"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Definition describes a job or a handler of a node to the other nodes. It has all that they need to show it and to
// compute its ticks.
type Definition struct {
	Job     string `json:"job"`               // its name in the store
	Program string `json:"program,omitempty"` // Config.Program of the node
	Version string `json:"version,omitempty"` // Config.Version of the node
	Handler bool   `json:"handler,omitempty"` // a handler of one-off jobs: it has no ticks and no cursor
	Timing

	Keys       []string      `json:"keys,omitempty"`
	TTL        time.Duration `json:"ttl,omitempty"` // Job.Lock.TTL
	Overlap    Overlap       `json:"overlap,omitempty"`
	Misfire    Misfire       `json:"misfire,omitempty"`
	MisfireCap int           `json:"misfireCap,omitempty"`
	Grace      time.Duration `json:"grace,omitempty"`
	Jitter     time.Duration `json:"jitter,omitempty"`
	Timeout    time.Duration `json:"timeout,omitempty"`
	Retries    int           `json:"retries,omitempty"`
}

// Timing is what says when the ticks of a job are. The zero Timing has none.
type Timing struct {
	Spec    string `json:"spec,omitempty"`
	Zone    string `json:"zone,omitempty"`    // IANA name
	Seconds bool   `json:"seconds,omitempty"` // Spec has a field of seconds
	// Job.Schedule, which has no text: only nodes that have the job can compute it
	Custom bool `json:"custom,omitempty"`
}

// TimingPeriod is a period in which a timing is in force. It begins after Since, and it ends at Since of the next
// period, inclusive.
type TimingPeriod struct {
	Since  time.Time
	Timing Timing
}

// Offer tells the store that a session has a job.
type Offer struct {
	Definition Definition
	Version    int64     // of the definition, as the session has heard of it before; 0: never
	Cursor     time.Time // as the session has heard of it before; zero: never
	Owed       []Span    // as the session has heard with that cursor
	OwedKnown  bool
}

// Registration is what a session offers.
type Registration struct {
	Session string
	Peers   []string      // the sessions that are alive, as the session has heard
	Grace   time.Duration // a session that is not among Peers counts as alive for this long after its registration
	Offers  []Offer
}

// JobSpec is what the store knows of the definitions of a job.
type JobSpec struct {
	Job     string
	Cursor  time.Time        // up to which all is decided; zero: it has none
	Epoch   string           // changes whenever another timing comes into force
	Timings []TimingPeriod   // of the timings in force, from the cursor on; the last one is in force
	Defs    []VersionedDef   // by version, oldest first
	Seen    time.Time        // when a session has registered it last
	Offers  map[string]int64 // versions by session; those of the dead stay until the next registration of the job
}

// VersionedDef is a definition with its version. The store numbers definitions in the order in which it first sees
// them.
type VersionedDef struct {
	Version    int64
	Definition Definition
}

// newest returns the definition with the highest version that a session has of which alive says so, nil if there is
// none.
func (s *JobSpec) newest(alive func(session string) bool) *VersionedDef {
	var best *VersionedDef
	for session, version := range s.Offers {
		i := slices.IndexFunc(s.Defs, func(d VersionedDef) bool { return d.Version == version })
		if i >= 0 && alive(session) && (best == nil || version > best.Version) {
			best = &s.Defs[i]
		}
	}
	return best
}

// definition is what this node tells of an entry.
func (s *Scheduler) definition(e *entry) Definition {
	j := &e.job
	return Definition{
		Job: j.Name, Program: s.cfg.Program, Version: s.cfg.Version, Handler: e.handler != nil, Timing: e.timing(),
		Keys: j.keyTexts(), TTL: j.Lock.TTL, Overlap: j.Overlap, Misfire: j.Misfire, MisfireCap: j.MisfireCap,
		Grace: j.Grace, Jitter: j.Jitter, Timeout: j.Timeout, Retries: j.Retries,
	}
}

func (e *entry) timing() Timing {
	switch {
	case e.handler != nil:
		return Timing{}
	case e.job.Schedule != nil:
		return Timing{Custom: true, Zone: e.zone.String()}
	}
	words := strings.Fields(e.job.Spec)
	if cronspec.Zone(e.job.Spec) != "" {
		words = words[1:] // the zone is beside it
	}
	return Timing{Spec: strings.Join(words, " "), Zone: e.zone.String(), Seconds: len(words) == 6}
}

// parse returns the schedule and the zone of a timing that another node may have published; nil if it has no ticks, or
// none that can be computed here.
func (t Timing) parse() (cron.Schedule, *time.Location) {
	zone, err := time.LoadLocation(t.Zone)
	if err != nil {
		return nil, time.UTC
	}
	if t.Spec == "" {
		return nil, zone
	}
	tz := t.Zone
	if strings.HasPrefix(t.Spec, "@every") {
		tz = "" // it has none
	}
	schedule, err := cronspec.Parse(t.Spec, tz)
	if err != nil {
		return nil, zone
	}
	return schedule, zone
}

// plain is the Job of a definition, without what cannot be published.
func (d *Definition) plain() Job {
	return Job{
		Name: d.Job, Spec: d.Spec, TZ: d.Zone, Keys: d.Keys, Lock: lockrt.Options{TTL: d.TTL}, Overlap: d.Overlap,
		Misfire: d.Misfire, MisfireCap: d.MisfireCap, Grace: d.Grace, Jitter: d.Jitter, Timeout: d.Timeout,
		Retries: d.Retries,
	}
}
