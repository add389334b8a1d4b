// Package parallel makes several calls at the same time.
package parallel

import (
	"context"
	"sync"
)

// Do makes the calls at the same time, and returns when all have returned. If a part of a store does not answer, a call
// may take until ctx ends.
func Do(ctx context.Context, calls ...func(context.Context)) {
	var calling sync.WaitGroup
	for _, call := range calls {
		calling.Go(func() { call(ctx) })
	}
	calling.Wait()
}
