package jobs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// orderStore notes how many runs had begun when the first record came.
type orderStore struct {
	Store
	mu           sync.Mutex
	begun, first int
	ended        time.Time // when the first record came
}

func (s *orderStore) Start(ctx context.Context, starts []Start) []error {
	s.mu.Lock()
	s.begun += len(starts)
	s.mu.Unlock()
	return s.Store.Start(ctx, starts)
}

func (s *orderStore) Finish(ctx context.Context, finishes []Finish) []error {
	s.mu.Lock()
	if s.ended.IsZero() {
		s.first, s.ended = s.begun, time.Now()
	}
	s.mu.Unlock()
	return s.Store.Finish(ctx, finishes)
}

func noWork(context.Context) error { return nil }

// TestScheduler_burstBeginsFirst has more jobs due together than one call claims. All begin before the first is
// recorded; some of them wait for a lock that another holds, and some that may not hold theirs for long do not wait for
// the others.
func TestScheduler_burstBeginsFirst(t *testing.T) {
	t.Parallel()
	const burst = 1100
	for _, c := range []struct {
		name   string
		change func(i int, j *Job)
		begun  int
		within time.Duration // of the first record after the tick
	}{
		{"all", func(int, *Job) {}, burst, 20 * time.Millisecond},
		{"one lock for two", func(i int, j *Job) {
			j.Keys, j.Overlap = []string{fmt.Sprint("half ", i%(burst/2))}, OverlapQueue
		}, burst / 2, 500 * time.Millisecond},
		{"bounded", func(i int, j *Job) { j.Lock.MaxHold = time.Minute }, 1, 5 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			jobstest.Run(t, func(t *testing.T, cl *jobstest.Cluster) {
				store := &orderStore{Store: cl.Store}
				n := cl.Node(Config{Store: store, Heartbeat: time.Minute}, 0)
				for i := range burst {
					j := Job{Name: fmt.Sprint("j", i), Spec: "1 1 * * *", Lock: lockrt.Options{TTL: time.Minute},
						Run: noWork}
					c.change(i, &j)
					n.MustAdd(j)
				}
				n.Start()
				time.Sleep(90 * time.Minute)
				cl.Stop()
				tick := jobstest.Start.Add(61 * time.Minute)
				if store.begun != burst || store.first < c.begun || store.ended.Sub(tick) > c.within {
					t.Errorf("%d began, %d of them before the first record, %s after the tick; want %d, %d, within %s",
						store.begun, store.first, store.ended.Sub(tick), burst, c.begun, c.within)
				}
			})
		})
	}
}
