package waits

import (
	"context"
	"time"
)

// Question is what a waiter asks the server beside its wait, which may end at any time. The zero value has none under
// way. It belongs to one goroutine.
type Question[A any] struct {
	Answer  <-chan A  // has the answer of the one under way; nil: there is none
	AskedAt time.Time // of the last one

	leave context.CancelFunc // cancels the one under way
	again bool               // another one follows it
}

// Ask has ask called by start, which must not wait for it. If a question is under way another one is to follow it.
func (q *Question[A]) Ask(ctx context.Context, start func(func()), ask func(context.Context) A) {
	if q.Answer != nil {
		q.again = true
		return
	}
	ctx, q.leave = context.WithCancel(ctx)
	answered := make(chan A, 1)
	q.Answer, q.AskedAt = answered, time.Now()
	start(func() { answered <- ask(ctx) })
}

// Answered is for a waiter that has taken the answer. It reports whether another question is to follow.
func (q *Question[A]) Answered() (again bool) {
	q.leave()
	again = q.again
	q.Answer, q.again = nil, false
	return again
}

// Settle ends the question under way. That takes no time where nothing in it outlasts its context.
func (q *Question[A]) Settle() {
	if q.Answer == nil {
		return
	}
	q.leave()
	<-q.Answer
	q.Answer = nil
}

// Silent is for how long the question under way has had no answer, 0 if there is none.
func (q *Question[A]) Silent() time.Duration {
	if q.Answer == nil {
		return 0
	}
	return time.Since(q.AskedAt)
}
