package waits

import (
	"context"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
)

// Rules are how a store asks again that watches its queues.
type Rules struct {
	Pause     time.Duration    // the first one after a question without an answer
	Patience  time.Duration    // see [State.Unheard]
	Retryable func(error) bool // it gets what Explain returns
	// Explain is the error of a call that began at some time, as the caller gets it.
	Explain func(ctx context.Context, began time.Time, err error) error
}

// Again looks at the queue until there is an answer, the wait is over, or another look is of no use. The place in the
// queue stays while the servers cannot be asked.
func (s *State) Again(ctx context.Context, r *Rules, look func(context.Context) error) error {
	var pause time.Duration
	for {
		began := time.Now()
		err := look(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || s.Over() {
			return s.Outcome(r.Explain(context.Background(), began, err))
		}
		if s.Since.IsZero() {
			s.Since = began
		}
		err = r.Explain(context.Background(), s.Since, err)
		Tell(s.Req, nil, err)
		if !r.Retryable(err) || s.Unheard(err, began, r.Patience) {
			return err
		}
		pause = pace.Backoff(pause, r.Pause, time.Second)
		if !s.Until.IsZero() {
			pause = min(pause, max(time.Until(s.Until), time.Millisecond))
		}
		pace.Sleep(ctx, pace.Jitter(pause))
	}
}
