package jobs

import (
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// knownRuns is how many ended runs, and how many one-off jobs of each kind, a node remembers for the case that the
	// store forgets.
	knownRuns = 4096
	// askedWaiting is of how many one-off jobs a heartbeat asks whether they wait still.
	askedWaiting = 256
	// knownFor is for how long it remembers ended runs.
	knownFor = 10 * time.Minute
)

// memory is what this node knows of what the store has been told, for the case that the store forgets.
//
// It has a mutex of its own, which comes after Scheduler.mu: it may be taken while that is held, and nothing else is
// locked while it is held.
type memory struct {
	partOf func(job string) int // of the store

	mu       sync.Mutex            // guards what follows
	pauses   map[string]PauseState // by job
	accepted map[string]int64      // versions of those that this node has put and no heartbeat has told of, by job
	waiting  map[string]OneOff     // one-off jobs that this scheduler has put or heard of, by ID
	asked    string                // the last of them that a heartbeat has asked about
	past     map[string]time.Time  // those that it has claimed or withdrawn: when
	ended    map[string]endedRun   // runs that it has recorded, by ID
}

type endedRun struct {
	run Run
	at  time.Time
}

func newMemory(partOf func(job string) int) *memory {
	return &memory{
		partOf: partOf, pauses: make(map[string]PauseState), accepted: make(map[string]int64),
		waiting: make(map[string]OneOff), past: make(map[string]time.Time), ended: make(map[string]endedRun),
	}
}

// forget makes room in a map that is full: of what is too old, and else of some. It makes room for many, because it
// looks at all.
func forget[V any](m map[string]V, old func(V) bool) {
	if len(m) < knownRuns {
		return
	}
	maps.DeleteFunc(m, func(_ string, v V) bool { return old(v) })
	for k := range m {
		if len(m) <= knownRuns-knownRuns/8 {
			return
		}
		delete(m, k)
	}
}

// noteRun notes that a run was recorded.
func (m *memory) noteRun(r Run) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	forget(m.ended, func(e endedRun) bool { return now.Sub(e.at) > knownFor })
	m.ended[r.ID] = endedRun{r, now}
}

// recordOf returns the record of a run that this node has ended lately.
func (m *memory) recordOf(id string) (Run, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ended := m.ended[id]
	return e.run, ended && e.run.Outcome != ""
}

// noteOneOff notes a one-off job that waits.
func (m *memory) noteOneOff(o OneOff) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, over := m.past[o.ID]; !over {
		forget(m.waiting, func(OneOff) bool { return false })
		m.waiting[o.ID] = o
	}
}

// noteOver notes that a one-off job waits no more.
func (m *memory) noteOver(id string) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.waiting, id)
	forget(m.past, func(at time.Time) bool { return now.Sub(at) > OneOffRetention })
	m.past[id] = now
}

// notePause notes a pause or a resume that the store has taken from this scheduler: until their next heartbeats no
// others know.
func (m *memory) notePause(state PauseState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.heardPause(state) {
		m.accepted[state.Job] = state.Version
	}
}

// heardPause notes a pause or a resume, and reports false if that or a later one is known. It needs mu.
func (m *memory) heardPause(state PauseState) bool {
	if state.Version <= m.pauses[state.Job].Version {
		return false
	}
	m.pauses[state.Job] = state
	return true
}

// resumedAt returns when a job was resumed, if it has been since it was paused last.
func (m *memory) resumedAt(job string) (at time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	state, known := m.pauses[job]
	return time.UnixMicro(state.Version).UTC(), known && state.Pause == nil
}

// of is what is known of a part of the store, of the one-off jobs too if they are in it.
func (m *memory) of(part int, oneOffs bool) (known Memory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for job, state := range m.pauses {
		if m.partOf(job) == part {
			known.Pauses = append(known.Pauses, state)
		}
	}
	if oneOffs {
		known.Waiting, known.Past = slices.Collect(maps.Values(m.waiting)), slices.Collect(maps.Keys(m.past))
	}
	return known
}
