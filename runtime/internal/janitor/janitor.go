// Package janitor takes back leases that nobody wants: those of callers that left before their answer came, of releases
// that failed, and those that a request without an answer may still bring about.
//
// A lease is cancelled until the server has answered or the lease is over anyway. If a request for it is without an
// answer it is cancelled once more when the server's clock has passed the latest moment at which that may act. After
// that nothing can come any more. Where a request that has begun in time may act later, it is looked for until then.
package janitor

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/timeheap"
)

// Lease is one to be cancelled.
type Lease[K any] struct {
	ID  string
	Key K
}

// Answer is what the server said to a cancel.
type Answer struct {
	Clock int64 // the server's (µs), of stores whose requests can come late
	Err   error
	// Later, if it is not 0, says that something is in the way of this lease and not of the others: there was no answer,
	// and it is tried again after that time.
	Later time.Duration
}

// Config is how a Janitor has leases cancelled.
type Config[K any] struct {
	// Cancel takes leases out of their queues and off their locks. It answers for each. It bounds itself.
	Cancel func(ctx context.Context, batch []Lease[K]) []Answer
	// Most is how many leases Cancel gets.
	Most int
	// When is the local moment at which the server's clock shows a time (µs). It is called for what [Janitor.Doubt] was.
	When func(key K, micros int64) time.Time
	// Lag is how much later than that a request may act that has begun before, as one that waits at the server; nil: not
	// later.
	Lag func() time.Duration
	// Retry reports whether another try may succeed after an error; nil: it may.
	Retry func(err error) bool
}

// Janitor remembers the leases of one session that nobody wants, and has them cancelled while [Janitor.Run] runs. The
// other methods may be called concurrently, before Run too, and do not block.
type Janitor[K any] struct {
	cfg      Config[K]
	wake     chan struct{}
	doubtful atomic.Int64 // how many leases are somebody's; changed under mu
	kept     atomic.Int64 // how many places there are; changed under mu

	mu     sync.Mutex // guards what follows
	byID   map[string]*leftover[K]
	due    timeheap.Heap[*leftover[K]]
	places map[string]place[K] // by the IDs of their leases
}

// New returns a janitor that remembers nothing.
func New[K any](cfg Config[K]) *Janitor[K] {
	return &Janitor[K]{
		cfg:  cfg,
		wake: make(chan struct{}, 1),
		byID: make(map[string]*leftover[K]),
		due:  timeheap.New(func(l *leftover[K]) *int { return &l.heapIndex }),

		places: make(map[string]place[K]),
	}
}

const (
	// backoffMin and backoffMax bound the pause after a cancel without an answer. The others wait too: the server is
	// away, as a rule.
	backoffMin, backoffMax = 100 * time.Millisecond, time.Second
	// lagMin is the shortest pause between two looks for what a request with a [Config.Lag] has brought about.
	lagMin = 100 * time.Millisecond
	// idle is how long Run sleeps with nothing to do.
	idle = time.Hour
)

// Run cancels what is due until ctx ends.
func (j *Janitor[K]) Run(ctx context.Context) {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	backoff := time.Duration(0)
	for {
		if backoff > 0 {
			pace.Sleep(ctx, pace.Jitter(backoff))
		}
		timer.Reset(j.pause())
		select {
		case <-ctx.Done():
			return
		case <-j.wake:
		case <-timer.C:
		}
		if _, failed := j.cancel(ctx, false); failed {
			backoff = pace.Backoff(backoff, backoffMin, backoffMax)
		} else {
			backoff = 0
		}
	}
}

// Rest cancels all that nobody wants, due or not, and the places that nobody has taken, until nothing is left or ctx ends.
// No try lasts longer than trip. It is for a session that ends. What it does not reach is left to its TTL.
func (j *Janitor[K]) Rest(ctx context.Context, trip time.Duration) {
	j.abandonPlaces()
	for backoff := time.Duration(0); pace.Sleep(ctx, backoff); {
		limited, cancel := context.WithTimeout(ctx, trip)
		tried, failed := j.cancel(limited, true)
		cancel()
		if tried == 0 {
			return
		}
		backoff = 0
		if failed {
			backoff = pace.Jitter(backoffMin)
		}
	}
}

// Left is how many leases nobody wants that the server may have.
func (j *Janitor[K]) Left() (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range j.byID {
		if !l.wanted {
			n++
		}
	}
	return n
}

// Known is how many leases it remembers, for tests.
func (j *Janitor[K]) Known() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.byID)
}

// pause is how long there is nothing to do.
func (j *Janitor[K]) pause() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.due.Len() == 0 {
		return idle
	}
	_, at := j.due.First()
	return max(time.Until(at), 0)
}

// cancel cancels a batch: what is due, or all that nobody wants. It reports how many were tried, and whether the server
// has not answered for some.
func (j *Janitor[K]) cancel(ctx context.Context, all bool) (tried int, failed bool) {
	batch := j.take(all)
	if len(batch) == 0 {
		return 0, false
	}
	leases := make([]Lease[K], len(batch))
	for i, l := range batch {
		leases[i] = l.Lease
	}
	answers := j.cfg.Cancel(ctx, leases)
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, l := range batch {
		failed = !j.answered(l, answers[i], all) || failed
	}
	return len(batch), failed
}

// take returns the next batch of those that are due.
func (j *Janitor[K]) take(all bool) (batch []*leftover[K]) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	for len(batch) < j.cfg.Most {
		until := now
		if all && j.due.Len() > 0 {
			_, until = j.due.First()
		}
		l, ok := j.due.TakeDue(until)
		if !ok {
			break
		}
		if l.wanted || l.kept.After(now) {
			j.forget(l) // what it could bring about it has; or it keeps its lock for longer than the session lasts
			continue
		}
		l.busy, l.again = true, false
		batch = append(batch, l)
	}
	return batch
}

// answered takes the answer to a cancel. It reports false if the server gave none. mu is held.
func (j *Janitor[K]) answered(l *leftover[K], a Answer, last bool) bool {
	again := l.again
	l.busy, l.again = false, false
	switch now := time.Now(); {
	case a.Later > 0 && !now.After(l.until):
		j.set(l, now.Add(a.Later))
	case a.Later > 0:
		j.forget(l)
	case a.Err == nil && (last || !again && (l.latest == 0 || past(l, a) > j.lag())):
		j.forget(l)
	case a.Err == nil && again:
		j.set(l, now)
	case a.Err == nil && past(l, a) <= 0:
		j.set(l, now.Add(time.Millisecond-past(l, a)))
	case a.Err == nil: // more and more rarely: what it brings about stays for a part of the time that it took, and no longer
		j.set(l, now.Add(max(lagMin, past(l, a)/4)))
	case now.After(l.until) || j.cfg.Retry != nil && !j.cfg.Retry(a.Err):
		j.forget(l)
	default:
		j.set(l, now)
		return false
	}
	return true
}

// past is how long the requests of a lease should have acted, by the server's clock.
func past[K any](l *leftover[K], a Answer) time.Duration {
	return time.Duration(a.Clock-l.latest) * time.Microsecond
}

func (j *Janitor[K]) lag() time.Duration {
	if j.cfg.Lag == nil {
		return 0
	}
	return j.cfg.Lag()
}
