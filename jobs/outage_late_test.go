package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// After an outage of what is needed for a run jobs begin within two seconds, although nodes have not asked a failing store
// all the time.
func TestScheduler_outage_late(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		for _, calls := range []string{"Claim", "Start", "Claim Start Finish"} {
			t.Run(fmt.Sprint(calls, " on ", nodes), func(t *testing.T) {
				for round := range rounds(12, 3) { // so that it ends at various moments between two tries
					jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
						lasts := 20*time.Second + time.Duration(round)*8370*time.Millisecond
						lateAfterOutage(t, c, nodes, calls, lasts)
					})
				}
			})
		}
	}
}

func lateAfterOutage(t *testing.T, c *jobstest.Cluster, nodes int, calls string, lasts time.Duration) {
	var mu sync.Mutex
	var over time.Time // when the outage was
	begin := func(ctx context.Context) error {
		name, tick, _ := TickFromContext(ctx)
		mu.Lock()
		defer mu.Unlock()
		if over.IsZero() {
			return nil
		}
		if late := time.Since(slices.MaxFunc([]time.Time{tick, over}, time.Time.Compare)); late > 2*time.Second {
			t.Errorf("%s of %s began %s late after an outage of %s", name, tick.Format(time.TimeOnly), late, lasts)
		}
		return nil
	}
	store := &halfDown{Store: c.Store, why: errFull, only: calls}
	for range nodes {
		n := c.Node(Config{Store: store}, 0)
		for i, spec := range []string{"* * * * * *", "*/10 * * * * *", "0 * * * * *"} {
			n.MustAdd(Job{Name: fmt.Sprint("j", i), Spec: spec, Run: begin})
		}
		n.Start()
	}
	time.Sleep(33 * time.Second)
	store.down.Store(true)
	time.Sleep(lasts)
	store.down.Store(false)
	// Claims about once a second. Starts and ends as well; those of many runs go out in two calls.
	if most := int64(nodes) * int64(lasts/time.Second) * 4; store.refused.Load() > most {
		t.Errorf("%d calls in %s, want %d at most", store.refused.Load(), lasts, most)
	}
	mu.Lock()
	over = time.Now()
	mu.Unlock()
	time.Sleep(15 * time.Second)
	c.Stop()
}
