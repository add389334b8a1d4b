// Package timelimit bounds calls to a store by contexts that many of them share.
package timelimit

import (
	"context"
	"sync"
	"time"
)

// Shared makes contexts that end after a length of time. Calls that begin within Share of each other get the same one,
// and with it one timer: arming one for each call costs more than all the rest that an uncontended acquire does.
//
// The fields must not change after the first use. All methods may be called concurrently.
type Shared struct {
	Base   context.Context // ends all of them; nil: nothing does
	Length time.Duration   // the least that a call gets
	Share  time.Duration   // a call gets up to this much more
	Cause  error           // of the end after Length; nil: context.DeadlineExceeded

	mu     sync.Mutex // guards what follows
	shared context.Context
	cancel context.CancelFunc // of shared; its timer does the work
	fresh  time.Time          // until when shared is given to new calls
}

// Next returns a context that ends between Length and Length + Share from now. It has no values.
func (s *Shared) Next() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.After(s.fresh) {
		base := s.Base
		if base == nil {
			base = context.Background()
		}
		// Calls may still use the one before. It ends by itself.
		s.shared, s.cancel = context.WithTimeoutCause(base, s.Length+s.Share, s.Cause)
		s.fresh = now.Add(s.Share)
	}
	return s.shared
}

// WithValues returns a context with the end of one and the values of another.
func WithValues(end, values context.Context) context.Context {
	return valuesContext{Context: end, values: values}
}

type valuesContext struct {
	context.Context
	values context.Context
}

// Value implements context.Context.
func (c valuesContext) Value(key any) any { return c.values.Value(key) }

// AfterFunc has a context that is made from this one wait for its end without a goroutine: the context package asks for
// this method, since it cannot see whose end that is.
func (c valuesContext) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(c.Context, f) }
