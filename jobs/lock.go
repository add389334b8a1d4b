package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// refusal is why a run does not begin. Without an outcome the node is to leave it to others.
type refusal struct {
	outcome     Outcome
	reason, err string
	held        bool // the lock is
}

var leave = &refusal{}

// slowStore is how long the stores may take to say that a tick is won, or that its lock is held. A tick that hears of
// it later counts as held up.
const slowStore = 500 * time.Millisecond

// lock takes the job's locks by its overlap policy. The leases' context ends with ctx. A store of locks that does not
// answer is asked again, within the grace if missed ticks are to be skipped.
func (x *attempt) lock(ctx context.Context) (lockrt.Leases, *refusal) {
	var err error
	if x.keys, err = x.e.keys(&x.p.Run); err != nil {
		return nil, &refusal{outcome: OutcomeError, reason: "the lock cannot be taken", err: err.Error()}
	}
	if len(x.keys) == 0 {
		return nil, nil
	}
	retried := false
	for wait := minBackoff; ; wait = min(2*wait, maxBackoff) {
		asked := time.Now()
		leases, err := x.tryLock(ctx)
		x.heardOfLock(ctx, err)
		if err == nil {
			return leases, nil
		}
		// An answer that was long in coming is as good as none: later ticks may have asked meanwhile.
		silent := !x.p.Backlog && x.e.job.Overlap == OverlapSkip &&
			time.Since(asked)-x.patience().Wait > slowStore
		if r := x.refuse(ctx, err); r != nil && !(r.held && silent) {
			if !r.held || x.e.job.Overlap != OverlapSkip || x.p.Patient {
				return nil, r
			}
			switch by, since := x.holder(ctx); {
			case by == heldUp && x.becomePatient(ctx, since), by == gone && !retried:
				retried = true
				continue
			}
			return nil, r
		}
		x.delay()
		if !pause(ctx, wait) {
			return nil, leave
		}
	}
}

// delay notes that the attempt is held up.
func (x *attempt) delay() {
	now := x.e.part.clock.now()
	x.p.delay()
	x.s.live.change(x.live, (*InFlight).delay) // for its end, which frees what waits for it
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	x.e.delayed = now
}

// heardOfLock notes whether the store of locks gives a lock, or says why not.
func (x *attempt) heardOfLock(ctx context.Context, err error) {
	if err != nil && ctx.Err() != nil {
		return // what it said says nothing about the store
	}
	if slices.ContainsFunc(lockAnswers, func(answer error) bool { return errors.Is(err, answer) }) {
		err = nil
	}
	run := &x.p.Run
	x.s.locking.heardEach(0, locking, []verdict{{job: run.Job, oneOff: run.OneOff, err: err, done: err == nil}})
}

// lockAnswers are errors with which a store of locks, or the Locker, has said why there is no lock.
var lockAnswers = []error{
	lockrt.ErrBusy, lockrt.ErrLost, lockrt.ErrClosed, lockrt.ErrKey, errors.ErrUnsupported, lockrt.ErrOptions, lockrt.ErrNested,
}

// refuse turns an error of the locks into the end of the attempt; nil means try again. Reasons hold nothing that
// differs from one tick to the next, so that ticks skipped in a row share a record.
func (x *attempt) refuse(ctx context.Context, err error) *refusal {
	var busy *lockrt.BusyError
	switch {
	case ctx.Err() != nil:
		return leave
	case errors.As(err, &busy) && busy.Holder == "":
		return heldBecause(fmt.Sprintf("lock %q is kept by its minimum hold time", busy.Key), "")
	case errors.As(err, &busy) && busy.Holders > 1:
		return heldBecause(fmt.Sprintf("lock %q is held by %d others", busy.Key, busy.Holders), "")
	case errors.As(err, &busy):
		return heldBecause(fmt.Sprintf("lock %q is held by %s", busy.Key, busy.Holder), "")
	case errors.Is(err, lockrt.ErrBusy):
		return heldBecause("the lock is held", err.Error())
	case errors.Is(err, lockrt.ErrClosed), errors.Is(err, lockrt.ErrKey), errors.Is(err, errors.ErrUnsupported),
		errors.Is(err, lockrt.ErrOptions), errors.Is(err, lockrt.ErrNested):
		return &refusal{outcome: OutcomeError, reason: "the lock cannot be taken", err: err.Error()}
	case x.tooLate():
		why := "store of locks unavailable until the tick was too late, and Misfire is skip"
		return &refusal{outcome: OutcomeSkipped, reason: why, err: err.Error()}
	}
	if !x.told { // if this lasts, the outage tells of the store, or of the job
		x.s.cfg.Logger.Debug("job lock not taken, its store has not said why; trying again",
			"job", x.e.job.Name, "tick", x.p.Run.Tick, "error", err)
	}
	x.told = true
	return nil
}

func heldBecause(reason, err string) *refusal {
	return &refusal{outcome: OutcomeSkipped, reason: reason, err: err, held: true}
}

// patience are the options of the locks, with how long this attempt waits for them.
func (x *attempt) patience() lockrt.Options {
	j, o := &x.e.job, x.e.lock
	switch {
	case j.Overlap != OverlapSkip && !x.p.Backlog:
	case x.p.Backlog && j.Misfire == MisfireAll:
		o.Wait = lockrt.Forever // missed ticks run one after another
	case x.p.Patient:
		o.Wait = max(o.Wait, j.Grace) // a run that makes up for a missed tick may have the lock
	}
	return o
}

// acquire takes locks, each in its own way. The methods of its error can be called.
func (s *Scheduler) acquire(ctx context.Context, keys []lockrt.KeyOptions, o lockrt.Options) (lockrt.Leases, error) {
	o.Mode, o.Permits = lockrt.Write, 0
	leases, err := s.locks.AcquireEach(ctx, keys, o)
	s.refused.sound(ctx, &err)
	return leases, err
}

// tryLock asks once.
func (x *attempt) tryLock(ctx context.Context) (lockrt.Leases, error) {
	j, keys, o := &x.e.job, x.keys, x.patience()
	leases, err := x.s.acquire(ctx, keys, o)
	// Only a tick on its schedule replaces: one that comes late must not end a later one's run.
	replaces := !x.p.Backlog && (x.p.Run.Trigger == TriggerSchedule || x.p.Run.Trigger == TriggerManual)
	for range len(keys) {
		var busy *lockrt.BusyError
		if j.Overlap != OverlapReplace || !replaces || !errors.As(err, &busy) {
			return leases, err
		}
		err = x.s.locks.Break(ctx, busy.Key, x.replaces())
		if x.s.refused.sound(ctx, &err); err != nil && !errors.Is(err, lockrt.ErrNotHeld) {
			return nil, err
		}
		o.Wait = max(o.Wait, time.Second) // others may be in line for what was broken
		leases, err = x.s.acquire(ctx, keys, o)
	}
	return leases, err
}

// replacedBy begins the reason for which a lock is broken under OverlapReplace.
const replacedBy = "replaced by the run "

// replaces is the reason for which this attempt breaks a lock.
func (x *attempt) replaces() string {
	whose := "of tick " + x.p.Run.Tick.Format(time.RFC3339)
	if x.p.Run.Trigger == TriggerManual {
		whose = fmt.Sprintf("that %s asked for", firstOf(x.p.Run.Author, "somebody"))
	}
	return fmt.Sprintf("%s%s, on node %s", replacedBy, whose, x.s.cfg.Node)
}

// replacement returns by which later run a lock was lost, "" if it was not. The reason is all that comes along with the
// loss.
func replacement(lost error) string {
	text := lost.Error()
	at := strings.Index(text, replacedBy)
	if at < 0 {
		return ""
	}
	line, _, _ := strings.Cut(text[at:], "\n")
	return line
}
