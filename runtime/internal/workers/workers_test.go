package workers_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/runtime/internal/workers"
)

func TestPool_Close_waitsForCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(workers.Pool)
		over := false
		p.Start(func() {
			time.Sleep(time.Second)
			over = true
		})
		p.Close(time.Now().Add(time.Minute))
		if !over {
			t.Error("the pool is closed and its call not over")
		}
	})
}

func TestPool_Close_callThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(workers.Pool)
		silent := make(chan struct{})
		defer close(silent)
		p.Start(func() { <-silent })
		began := time.Now()
		p.Close(began.Add(time.Second))
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %s, want the second it was given", took)
		}
	})
}

// Start works for whoever comes late: a call that is told to end must be able to end.
func TestPool_Start_afterClose(t *testing.T) {
	p := new(workers.Pool)
	p.Start(func() {})
	p.Close(time.Now().Add(time.Minute))
	if err := p.Do(t.Context(), func() error { return errors.ErrUnsupported }); err != errors.ErrUnsupported {
		t.Errorf("got %v, want the call's own error", err)
	}
}

func TestPool_Do_callerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(workers.Pool)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := p.Do(ctx, func() error {
			time.Sleep(time.Minute)
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that of the context", err)
		}
		p.Close(time.Now().Add(time.Hour))
	})
}

func TestAwait(t *testing.T) {
	open, closed := make(chan struct{}), make(chan struct{})
	close(closed)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	slow := errors.New("too slow")
	limit, end := context.WithCancelCause(t.Context())
	end(slow)
	for name, c := range map[string]struct {
		ctx, limit context.Context
		done       chan struct{}
		want       error
	}{
		"done":               {t.Context(), t.Context(), closed, nil},
		"all at once":        {canceled, limit, closed, nil},
		"the caller's end":   {canceled, t.Context(), open, context.Canceled},
		"the limit":          {t.Context(), limit, open, slow},
		"the caller's first": {canceled, limit, open, context.Canceled},
	} {
		if got := workers.Await(c.ctx, c.limit, c.done); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
