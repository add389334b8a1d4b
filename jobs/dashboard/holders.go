package dashboard

import (
	"context"
	"errors"
	"sync"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// holdersAtOnce is how many locks are asked about at the same time.
const holdersAtOnce = 8

// fetchHolders asks for each lock who holds it; a free one has the zero value. It stops at the first error.
func (d *dashboard) fetchHolders(ctx context.Context, keys []string) (map[string]lockrt.LockInfo, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		mu    sync.Mutex // guards all
		all   = make(map[string]lockrt.LockInfo, len(keys))
		group sync.WaitGroup
	)
	for i := range holdersAtOnce {
		group.Go(func() {
			for j := i; j < len(keys); j += holdersAtOnce {
				var info lockrt.LockInfo
				err := caught(func() (err error) { info, err = d.locks.Holder(ctx, keys[j]); return err })
				if err != nil && !errors.Is(err, lockrt.ErrNotHeld) && !errors.Is(err, lockrt.ErrKey) {
					cancel(err)
					return
				}
				mu.Lock()
				all[keys[j]] = info
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return all, context.Cause(ctx)
}
