package jobs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// entry is a job in a scheduler. What is below the line belongs to the loop; other goroutines read cursor, timings,
// version and refused under Scheduler.mu, under which the loop writes them.
type entry struct {
	job      Job
	schedule cron.Schedule // nil for a handler
	handler  func(ctx context.Context, id string, payload []byte) error
	zone     *time.Location
	lock     lockrt.Options // Job.Lock, as the locks are asked for it
	hash     uint64         // of the name
	part     *part          // of the store that has it

	cursor  time.Time // as last heard of from the store
	timings []inForce // the timings from the cursor on; nil: the store has not been asked
	madeUp  time.Time // the cursor that the store gave to the job when this node knew of none
	version int64     // of this node's definition
	epoch   string    // as last heard of
	dormant bool      // another timing is in force
	refused string    // the program that has the job

	plan    plan          // what is to be done next; see plan.holds
	owed    []Span        // ticks to be run beside the schedule, as last heard
	owedOK  bool          // they belong to cursor
	owedAt  time.Time     // when to ask for one of them
	owing   time.Time     // when some were owed last, or the store did not answer
	delayed time.Time     // when a run here was held up last; guarded by Scheduler.mu
	paused  bool          // as last heard of from the store
	busy    bool          // what is to be done next has to wait for the end of a run
	unsure  *Claim        // of which the answer was lost: resolve it before anything else
	probing bool          // unsure is being resolved
	backoff time.Duration // since the store has not answered for it, though it has for others
	rests   time.Time     // until when it is not asked for because of that
	futile  int           // answers in a row that leave all as it was, and have it asked for the same
	index   int           // in the loop's heap
}

// keys are the locks of a run.
func (e *entry) keys(r *Run) ([]lockrt.KeyOptions, error) {
	j := &e.job
	switch {
	case e.handler != nil:
		return []lockrt.KeyOptions{{Key: HandlerPrefix + r.OneOff}}, nil
	case j.KeysFunc != nil:
		texts, err := keysOf(j, "KeysFunc", j.KeysFunc, func(keys []string) []string { return keys })
		return j.inOneWay(texts), err
	case j.EachFunc != nil:
		return keysOf(j, "EachFunc", j.EachFunc, textsOf)
	case len(j.Each) > 0:
		return j.Each, nil
	}
	return j.inOneWay(j.Keys), nil
}

// keysOf calls a function of a job that builds keys.
func keysOf[K any](j *Job, name string, build func() ([]K, error), texts func([]K) []string) ([]K, error) {
	type result struct {
		keys []K
		err  error
	}
	got, failure := guard(func() result {
		keys, err := build()
		return result{keys, err}
	})
	switch {
	case failure != "":
		return nil, fmt.Errorf("Job.%s of job %q: %s", name, j.Name, failure)
	case got.err != nil:
		return nil, fmt.Errorf("Job.%s of job %q: %s", name, j.Name, errorText(got.err))
	case len(got.keys) == 0 || slices.Contains(texts(got.keys), ""):
		return nil, fmt.Errorf("Job.%s of job %q returned %q: return the locks to hold, none of them empty",
			name, j.Name, texts(got.keys))
	}
	return slices.Clone(got.keys), nil
}

// work is what to call for a run.
func (e *entry) work(r *Run) func(context.Context) error {
	if e.handler == nil {
		return e.job.Run
	}
	id, payload := r.OneOff, r.Payload
	return func(ctx context.Context) error { return e.handler(ctx, id, payload) }
}
