package sqltest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Callers who share statements get the locks that they are told, and only those: nobody is inside beside another, and no
// lease is lost whose batch has freed others, with or without somebody who waits for its lock.
func TestStore_batches(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		const keys, callers, turns = 24, 24, 12
		var inside [keys]atomic.Int32
		var all sync.WaitGroup
		for i := range 2 {
			s, _ := e.session(t, fmt.Sprint("node", i))
			for j := range callers {
				all.Go(func() {
					for n := range turns {
						at := rand.IntN(keys)
						req := lockrt.Request{Key: fmt.Sprint("k", at), ID: fmt.Sprintf("%d-%d-%d", i, j, n), TTL: long}
						if j%4 == 0 {
							req.Wait = lockrt.Forever
						}
						_, err := s.Acquire(context.Background(), req)
						if errors.Is(err, lockrt.ErrBusy) {
							continue
						}
						if err != nil {
							t.Errorf("acquire: %v", err)
							return
						}
						if others := inside[at].Add(1) - 1; others > 0 {
							t.Errorf("%d others hold %s", others, req.Key)
						}
						inside[at].Add(-1)
						if err := s.Release(context.Background(), lockrt.Release{Key: req.Key, ID: req.ID}); err != nil {
							t.Errorf("release: %v", err)
						}
					}
				})
			}
		}
		all.Wait()
	})
}

// Acquisitions, releases and renewals of many share statements on many rows, in whatever order callers come. None of
// them deadlocks.
func TestPostgres_batchesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	e.db.SetMaxIdleConns(40)
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
				if len(all) == 0 {
					time.Sleep(time.Millisecond)
					continue
				}
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
