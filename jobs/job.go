package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/jobs/internal/spread"

	"github.com/robfig/cron/v3"

	"github.com/lockgen/lockgen/internal/cronspec"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Job is work that runs at the ticks of a schedule, each tick once in the whole cluster.
type Job struct {
	// Name identifies the job in the store: nodes that add a job under the same name share its ticks, whatever
	// their specs. Required, unique within a scheduler, up to 200 bytes.
	Name string
	// Spec is a cron specification: five fields, optionally seconds in front, a descriptor such as @daily, or
	// "@every 90s", whose ticks are the multiples since the Unix epoch. One of Spec and Schedule is required.
	Spec string
	// TZ is the IANA name of the zone of Spec. Defaults to Config.Location.
	TZ string
	// Schedule is used in place of Spec. All nodes must get the same ticks from it. It is called with times in
	// Config.Location. It returns the zero time when there are no more ticks. It must return at once: a call that
	// panics, or takes longer than a second, is repeated a minute later. A change of the schedule is not noticed,
	// because a Schedule has no text to compare.
	Schedule cron.Schedule
	// Run is the work. Its context ends when the job's lock is lost, when Timeout is over, and when a drain takes too
	// long. The context carries the leases (lockrt.FromContext, lockrt.Held) and the tick ([TickFromContext]).
	// Required.
	Run func(ctx context.Context) error

	// Keys are the locks that are held while the job runs. Defaults to "job:" + Name, and to none if Overlap is
	// OverlapAllow.
	Keys []string
	// KeysFunc is used in place of Keys. It is called before each attempt, so the keys may depend on what changes while
	// the program runs. It must return at once, and the same keys on all nodes. If it fails, the attempt ends in an
	// error.
	KeysFunc func() ([]string, error)
	// Each is used in place of Keys for locks that are not all held in the same way, such as a permit of a pool beside
	// the job's own lock. A lock with Permits N lets in N runs at a time in the cluster, of this job and of all others
	// that name the same key with the same number. See also Lock.Permits.
	Each []lockrt.KeyOptions
	// EachFunc is to Each what KeysFunc is to Keys.
	EachFunc func() ([]lockrt.KeyOptions, error)
	// Lock has the options for Keys. With Permits N at most N runs of the job happen at a time in the cluster. Permits
	// need OverlapSkip or OverlapQueue. Locks that are all held to read need OverlapAllow, because runs do not keep each
	// other out. Mode and Permits need a store of locks that has readers and permits. TTL defaults to 30 s and is limited
	// to a minute, so that the death of a node is noticed within a minute. Locks are renewed; with NoRenew the job is
	// stopped after TTL. Wait is how long a run waits for a lock that is held. With OverlapQueue, 0 means that it waits
	// without a limit.
	Lock lockrt.Options
	// Overlap says what happens when the lock is held, usually by an earlier run. Defaults to OverlapSkip.
	//
	// When a store was away, or has lost data, the lock may be held by a run that is late and not slow. For Grace after
	// such a run has begun, ticks with OverlapSkip wait for the lock. Of a job that is slower than its schedule, as many
	// wait as are due in that time; they run one after the other, and the ticks between them are skipped again.
	Overlap Overlap

	// Misfire says what happens to ticks that are later than Grace because no node was running or the store did not
	// answer. Defaults to MisfireOnce. Retries, and what somebody has asked for, are run however late.
	Misfire Misfire
	// Grace is how late a tick may begin and still be on time. Defaults to 10 s.
	Grace time.Duration
	// MisfireCap is the number of missed ticks that MisfireAll runs, the newest ones. Defaults to 100.
	MisfireCap int
	// Jitter delays every tick by a part of this duration. The part is a hash of name and tick, so all nodes compute
	// the same delay. Defaults to none.
	Jitter time.Duration

	// Timeout ends the context of a run after this time. Defaults to none.
	Timeout time.Duration
	// Retries is how many more times a tick is tried after an error, panic, timeout or lost lease, and after the death
	// of its node. The pauses are 1 s, 2 s, 4 s … up to a minute. A retry that finds the lock held, for example by the
	// run of a later tick, does not count: it is tried again after further pauses. If the lock was held each time for a
	// minute or more, the retry is recorded as skipped, and no other follows. Defaults to none.
	Retries int
}

// Misfire is a policy for missed ticks.
type Misfire string

// The policies for missed ticks. Ticks that are not run are recorded as skipped.
const (
	MisfireSkip Misfire = "skip" // run none of them
	MisfireOnce Misfire = "once" // run one in place of all: the newest
	MisfireAll  Misfire = "all"  // run each, oldest first, one after another
)

// Overlap is a policy for ticks that find the job's lock held.
type Overlap string

// The policies for ticks that find the job's lock held.
const (
	OverlapSkip    Overlap = "skip"    // record the tick as skipped, with the holder
	OverlapQueue   Overlap = "queue"   // wait, in the order of arrival; more than 100 waiting on a node are skipped
	OverlapReplace Overlap = "replace" // take the lock away from the holder, whose context is cancelled
	OverlapAllow   Overlap = "allow"   // take no lock of the job's own
)

const maxName = 200

// prepare checks j, fills in its defaults and parses its spec. All problems are reported at once.
func (j Job) prepare(defaultZone *time.Location) (*entry, error) {
	var errs []error
	complain := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	complain(j.Name == "",
		"it has no Name: give it one that all versions of the program share, runs are recorded under it")
	complain(strings.HasPrefix(j.Name, HandlerPrefix),
		"its Name begins with %q, as only those of handlers of one-off jobs do: choose another", HandlerPrefix)
	complain(len(j.Name) > maxName, "its Name has %d bytes: use %d at most", len(j.Name), maxName)
	complain(!isText(j.Name),
		"its Name %q holds a control character or a format character, or is not UTF-8: use printable text",
		brief(j.Name))
	complain(j.Run == nil, "it has no Run: set the function to call")
	complain(j.Grace < 0 || j.Timeout < 0 || j.Jitter < 0 || j.Retries < 0 || j.MisfireCap < 0,
		"Grace %s, Timeout %s, Jitter %s, Retries %d, MisfireCap %d: none may be negative",
		j.Grace, j.Timeout, j.Jitter, j.Retries, j.MisfireCap)
	complain(slices.Contains(j.keyTexts(), ""), "Keys holds an empty key: name the lock, or leave Keys empty for %q",
		"job:"+brief(j.Name))
	complain(!slices.Contains([]Misfire{"", MisfireSkip, MisfireOnce, MisfireAll}, j.Misfire),
		"Misfire is %q: use one of skip, once, all", j.Misfire)
	complain(!slices.Contains([]Overlap{"", OverlapSkip, OverlapQueue, OverlapReplace, OverlapAllow}, j.Overlap),
		"Overlap is %q: use one of skip, queue, replace, allow", j.Overlap)
	errs = append(errs, j.keysProblem())
	errs = append(errs, j.lockProblems()...)
	errs = append(errs, j.kindProblems()...)
	j.defaults()

	e := &entry{job: j, zone: defaultZone, lock: j.lockOptions(), hash: spread.Hash(j.Name)}
	switch {
	case j.Schedule != nil:
		e.schedule = guardSchedule(j.Schedule)
		complain(j.Spec+j.TZ != "", "it has a Schedule and also Spec %q, TZ %q: keep one of them", j.Spec, j.TZ)
	default:
		var err error
		e.schedule, err = cronspec.Parse(j.Spec, j.TZ)
		complain(err != nil, "%w", err)
		zone := j.TZ + cronspec.Zone(j.Spec) // one of them at most
		if loc, err := time.LoadLocation(zone); err == nil && zone != "" {
			e.zone = loc
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("add job %q: %w", brief(j.Name), err)
	}
	return e, nil
}

// lockProblems is what the Locker would say of Keys and Lock at every run.
func (j *Job) lockProblems() (errs []error) {
	o := j.Lock
	if o.TTL != 0 && o.TTL < minLockTTL {
		errs = append(errs, fmt.Errorf("Lock.TTL is %s: set %s or more, 0 for 30s", o.TTL, minLockTTL))
	}
	if o.Wait < 0 || o.MinHold < 0 || o.MaxHold < 0 {
		errs = append(errs, fmt.Errorf("Lock has Wait %s, MinHold %s, MaxHold %s: none may be negative", o.Wait,
			o.MinHold, o.MaxHold))
	}
	if o.MaxHold > 0 && o.MinHold > o.MaxHold {
		errs = append(errs, fmt.Errorf("Lock.MinHold %s is longer than MaxHold %s: the lock would be lost before it "+
			"may be free",
			o.MinHold, o.MaxHold))
	}
	for _, key := range j.keyTexts() {
		if strings.IndexByte(key, 0) >= 0 {
			errs = append(errs, fmt.Errorf("Keys holds %q with a zero byte: leave it out", key))
		}
	}
	return errs
}

func (j *Job) defaults() {
	if j.Misfire == "" {
		j.Misfire = MisfireOnce
	}
	if j.Overlap == "" {
		j.Overlap = OverlapSkip
	}
	if j.Grace == 0 {
		j.Grace = 10 * time.Second
	}
	if j.MisfireCap == 0 {
		j.MisfireCap = 100
	}
	if j.Lock.TTL == 0 {
		j.Lock.TTL = 30 * time.Second
	}
	if j.Overlap == OverlapQueue && j.Lock.Wait == 0 {
		j.Lock.Wait = lockrt.Forever
	}
	j.Keys, j.Each = slices.Clone(j.Keys), slices.Clone(j.Each)
	if !j.namesKeys() && j.Overlap != OverlapAllow {
		j.Keys = []string{"job:" + j.Name}
	}
}

// minLockTTL is the least that package lockrt takes.
const minLockTTL = 10 * time.Millisecond

// maxLockTTL bounds what Lock.TTL may make a dead node cost: its locks are free after this time however long the job
// may take. A lock is renewed while the job runs, so a longer TTL would only outlive longer failures of the store of
// locks.
const maxLockTTL = time.Minute

// lockOptions are the options with which the locks are taken.
func (j *Job) lockOptions() lockrt.Options {
	o := j.Lock
	if o.TTL <= maxLockTTL {
		return o
	}
	if o.NoRenew { // then the TTL was also the longest time that the job may have it
		o.NoRenew = false
		if o.MaxHold == 0 || o.MaxHold > o.TTL {
			o.MaxHold = o.TTL
		}
	}
	o.TTL = maxLockTTL
	return o
}
