package lockrt_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// lateContext is one whose timer does not get to run: its Done never closes. Its deadline has passed, or it says that it
// has ended to those who ask.
type lateContext struct {
	context.Context
	deadline time.Time
	over     func() error
}

func (c lateContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

func (c lateContext) Done() <-chan struct{} { return make(chan struct{}) }

func (c lateContext) Err() error {
	if c.over == nil {
		return nil
	}
	return c.over()
}

// On a busy machine the wait is found to be over before the end of the context is, which came first. The error says that
// the context has ended.
func TestLocker_Acquire_waitAndContextEndTogether(t *testing.T) {
	down := errors.New("it is down")
	tests := map[string]struct {
		context func() lateContext
		queued  bool
		keys    int
		want    error
	}{
		"deadline, in the local queue":   {context: passedDeadline, queued: true, keys: 1, want: context.DeadlineExceeded},
		"deadline, at the store":         {context: passedDeadline, keys: 1, want: context.DeadlineExceeded},
		"deadline, many keys at once":    {context: passedDeadline, keys: 20, want: context.DeadlineExceeded},
		"cancelled, in the local queue":  {context: quietlyCancelled, queued: true, keys: 1, want: context.Canceled},
		"cancelled, at the store":        {context: quietlyCancelled, keys: 1, want: context.Canceled},
		"cancelled, many keys at once":   {context: quietlyCancelled, keys: 20, want: context.Canceled},
		"it lives, in the local queue":   {context: living, queued: true, keys: 1},
		"it lives, at the store":         {context: living, keys: 1},
		"it lives, with many keys":       {context: living, keys: 20},
		"it lives longer than the wait":  {context: livingLonger, keys: 1},
		"it lives longer, with the many": {context: livingLonger, keys: 20},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
				keys := []string{"k"}
				for len(keys) < test.keys {
					keys = append(keys, string(rune('a'+len(keys))))
				}
				wait := 2 * time.Second
				store.set(func(s *faultStore) {
					s.acquire = func(_ context.Context, req lockrt.Request, _ lockrt.Session) (lockrt.Grant, error) {
						time.Sleep(min(req.Wait+wait, 2*wait))
						return lockrt.Grant{}, down
					}
				})
				var ahead sync.WaitGroup
				if test.queued {
					ahead.Go(func() { _, _ = locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: 2 * wait}) })
					synctest.Wait()
				}
				leases, err := locks.AcquireAll(test.context(), keys, lockrt.Options{TTL: time.Hour, Wait: wait})
				isContext := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
				if err == nil || test.want == nil && isContext || test.want != nil && !errors.Is(err, test.want) {
					t.Errorf("%v, %v, want an error of the context: %v", leases, err, test.want)
				}
				ahead.Wait()
			})
		})
	}
}

func passedDeadline() lateContext {
	return lateContext{Context: context.Background(), deadline: time.Now().Add(time.Second)}
}

func quietlyCancelled() lateContext {
	end := time.Now().Add(time.Second)
	return lateContext{Context: context.Background(), over: func() error {
		if time.Now().Before(end) {
			return nil
		}
		return context.Canceled
	}}
}

func living() lateContext { return lateContext{Context: context.Background()} }

func livingLonger() lateContext {
	return lateContext{Context: context.Background(), deadline: time.Now().Add(time.Hour)}
}
