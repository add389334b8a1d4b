// Package parallel makes several calls at the same time.
package parallel

import (
	"context"
	"slices"
	"sync"
	"time"
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

// Collect makes the calls at the same time. What each returns is called, one after another, before Collect returns. It
// returns when ctx has ended, even if calls have not: those are late, and what they return is not called. They go on in the
// background until they return.
func Collect(ctx context.Context, calls ...func(context.Context) (take func())) (late []bool) {
	type answer struct {
		at   int
		take func()
	}
	answers := make(chan answer, len(calls))
	for i, call := range calls {
		go func() { answers <- answer{i, call(ctx)} }()
	}
	late = slices.Repeat([]bool{true}, len(calls))
	ended, over := ctx.Done(), (<-chan time.Time)(nil)
	for missing := len(calls); missing > 0; {
		select {
		case a := <-answers:
			a.take()
			late[a.at] = false
			missing--
		case <-ended:
			timer := time.NewTimer(grace)
			defer timer.Stop()
			ended, over = nil, timer.C
		case <-over:
			return late
		}
	}
	return late
}

// grace is what calls have, after the end of their context, to say themselves what has happened.
const grace = 20 * time.Millisecond
