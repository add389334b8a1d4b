package sqltest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Acquisitions, releases and renewals of many share statements on many rows, in whatever order callers come. None of
// them deadlocks.
func TestPostgres_batchesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	const keys = 60
	end := time.Now().Add(3 * time.Second)
	var wg sync.WaitGroup
	for i := range 3 {
		s, _ := e.session(t, fmt.Sprint("node", i))
		var mu sync.Mutex
		holds := make(map[string]string)
		for j := range 24 {
			wg.Go(func() {
				for n := 0; time.Now().Before(end); n++ {
					key, id := fmt.Sprint("k", rand.IntN(keys)), fmt.Sprintf("%d-%d-%d", i, j, n)
					_, err := s.Acquire(context.Background(), lockrt.Request{Key: key, ID: id, TTL: long})
					if errors.Is(err, lockrt.ErrBusy) {
						continue
					}
					if err != nil {
						t.Errorf("acquire: %v", err)
						return
					}
					mu.Lock()
					holds[id] = key
					mu.Unlock()
					time.Sleep(rand.N(5 * time.Millisecond))
					mu.Lock()
					delete(holds, id)
					mu.Unlock()
					if err := s.Release(context.Background(), lockrt.Release{Key: key, ID: id}); err != nil {
						t.Errorf("release: %v", err)
					}
				}
			})
		}
		wg.Go(func() {
			for time.Now().Before(end) {
				var all []lockrt.Renewal
				mu.Lock()
				for id, key := range holds {
					all = append(all, lockrt.Renewal{Key: key, ID: id, TTL: long})
				}
				mu.Unlock()
				for j, err := range s.Renew(context.Background(), all) {
					if err != nil && !errors.Is(err, lockrt.ErrLost) { // it may have been released meanwhile
						t.Errorf("renewal of %s: %v", all[j].Key, err)
					}
				}
			}
		})
	}
	wg.Wait()
	var deadlocks int
	if err := e.db.QueryRow("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&deadlocks); err != nil || deadlocks > 0 {
		t.Errorf("%d deadlocks, %v", deadlocks, err)
	}
}
