package jobs

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// liveRuns are the runs in flight on this node, and the goroutines that they live in, which the drain waits for. It
// knows nothing of the scheduler.
//
// It has a mutex of its own, which comes after Scheduler.mu: it may be taken while that is held. While it is held
// nothing else is locked, and nothing is called but what ends the context of a run.
type liveRuns struct {
	goroutines sync.WaitGroup // from outside of them only spawn and enter add to it, and the loop, before the drain

	mu      sync.Mutex // guards what follows, and what the runs say so of
	closed  bool       // the drain waits for the goroutines
	byID    map[string]*live
	perJob  map[string]int
	frees   map[string]bool // whether one of the runs that a job has had since it had none frees the ticks that it owes
	perPart []int           // of the store
}

// live is a run in flight on this node.
type live struct {
	id, job  string
	part     int
	cancel   context.CancelCauseFunc // of the context of its work
	begun    bool                    // guarded by liveRuns.mu
	telling  bool                    // its end is on the way to the store; guarded by liveRuns.mu
	inFlight InFlight                // as the store should have it; guarded by liveRuns.mu
}

// errTakenOver is the cause of the context of a run that others have recorded as lost.
var errTakenOver = errors.New("its node gave no sign of life for too long, and another node has taken the run over")

// errDraining is the cause of the context of a run that is to leave before it has begun.
var errDraining = errors.New("the node is shutting down")

// cancelledError is the cause of the context of a run that somebody wants to end.
type cancelledError struct{ author, reason string }

func (e *cancelledError) Error() string {
	if e.reason == "" {
		return "cancelled by " + e.author
	}
	return "cancelled by " + e.author + ": " + e.reason
}

func newLiveRuns(parts int) *liveRuns {
	return &liveRuns{byID: make(map[string]*live), perJob: make(map[string]int), frees: make(map[string]bool),
		perPart: make([]int, parts)}
}

// add makes a run known. cancel ends the context of its work.
func (r *liveRuns) add(part int, p *InFlight, cancel context.CancelCauseFunc) *live {
	l := &live{id: p.Run.ID, job: p.Run.Job, part: part, cancel: cancel, inFlight: *p}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byID[l.id] = l
	r.perPart[part]++
	r.perJob[l.job]++
	return l
}

// begin reports whether a run may begin; from then on dismiss leaves it alone. ctx is that of its work.
func (r *liveRuns) begin(ctx context.Context, l *live, run *Run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.begun = ctx.Err() == nil
	if l.begun {
		l.inFlight.Run.Started, l.inFlight.Run.Fence = run.Started, run.Fence
	}
	return l.begun
}

// change changes a run, as the store should have it.
func (r *liveRuns) change(l *live, f func(*InFlight)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&l.inFlight)
}

// tells notes that a run's end is on its way to the store.
func (r *liveRuns) tells(l *live) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.telling = true
}

// remove forgets a run. It reports whether that frees the ticks that its job owes: they wait for the last run here.
func (r *liveRuns) remove(l *live) (frees bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID[l.id] == l { // else the run is to be made again, under the same ID
		delete(r.byID, l.id)
	}
	r.perPart[l.part]--
	frees = l.inFlight.Backlog || r.frees[l.job]
	if r.perJob[l.job]--; r.perJob[l.job] > 0 {
		r.frees[l.job] = frees
		return false
	}
	delete(r.perJob, l.job)
	delete(r.frees, l.job)
	return frees
}

// obey cancels a run that is here. It may have ended meanwhile, or be another node's.
func (r *liveRuns) obey(n Notice) {
	r.mu.Lock()
	l := r.byID[n.ID]
	r.mu.Unlock()
	switch {
	case l == nil:
	case n.Taken:
		l.cancel(errTakenOver)
	default:
		l.cancel(&cancelledError{author: n.Author, reason: n.Reason})
	}
}

// dismiss cancels the runs that have not begun: the node shuts down, and other nodes are to have them.
func (r *liveRuns) dismiss() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.byID {
		if !l.begun {
			l.cancel(errDraining) // before the mutex goes: it must not begin first
		}
	}
}

func (r *liveRuns) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id] != nil
}

// count is of all runs, countOf of those of a job, countIn of those in a part of the store.
func (r *liveRuns) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byID)
}

func (r *liveRuns) countOf(job string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.perJob[job]
}

func (r *liveRuns) countIn(part int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.perPart[part]
}

// unrecorded are the runs in a part of the store whose records are not on their way.
func (r *liveRuns) unrecorded(part int) (all []InFlight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.byID {
		if !l.telling && l.part == part {
			all = append(all, l.inFlight)
		}
	}
	return all
}

// jobs are the jobs of the runs, sorted; a job stands there once for each run.
func (r *liveRuns) jobs() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.byID {
		all = append(all, l.job)
	}
	slices.Sort(all)
	return all
}

// spawn runs work as one of the goroutines that the drain waits for. It reports false, and does not, once that has
// begun.
func (r *liveRuns) spawn(work func()) bool {
	leave, entered := r.enter()
	if entered {
		go func() {
			defer leave()
			work()
		}()
	}
	return entered
}

// enter has the drain wait until leave is called, as for a run. It reports false once the drain has begun.
func (r *liveRuns) enter() (leave func(), entered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, false
	}
	r.goroutines.Add(1) // before the drain, which closes them, waits for the number to fall
	return r.goroutines.Done, true
}

// close lets no more goroutines come from outside, and returns the number of runs.
func (r *liveRuns) close() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return len(r.byID)
}
