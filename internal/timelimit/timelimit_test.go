package timelimit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/timelimit"
)

func TestShared_Next(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, end := context.WithCancel(t.Context())
		reason := errors.New("too slow")
		s := &timelimit.Shared{Base: base, Length: 5 * time.Second, Share: time.Second, Cause: reason}
		first := s.Next()
		time.Sleep(time.Second)
		if s.Next() != first {
			t.Error("a call within the share has a context of its own")
		}
		time.Sleep(time.Millisecond)
		second := s.Next()
		if second == first {
			t.Fatal("a later call has less than the length")
		}
		time.Sleep(5*time.Second - time.Millisecond)
		synctest.Wait()
		if context.Cause(first) != reason || second.Err() != nil {
			t.Errorf("after 6 s the first ended with %v, the second with %v", context.Cause(first), second.Err())
		}
		end()
		if !errors.Is(second.Err(), context.Canceled) {
			t.Errorf("the base has ended, and not the limit: %v", second.Err())
		}
	})
}

func TestWithValues(t *testing.T) {
	type key struct{}
	end, cancel := context.WithCancel(context.Background())
	ctx := timelimit.WithValues(end, context.WithValue(t.Context(), key{}, "value"))
	if cancel(); ctx.Value(key{}) != "value" || ctx.Err() == nil {
		t.Errorf("value %v, error %v; want that of the one and the end of the other", ctx.Value(key{}), ctx.Err())
	}
}

func TestWithValues_derived(t *testing.T) {
	end, cancel := context.WithCancel(context.Background())
	ctx := timelimit.WithValues(end, t.Context())
	if _, ok := ctx.(interface{ AfterFunc(func()) func() bool }); !ok {
		t.Error("package context starts a goroutine for each context that is made from this one")
	}
	one, over := context.WithCancel(ctx)
	defer over()
	cancel()
	if <-one.Done(); !errors.Is(one.Err(), context.Canceled) {
		t.Errorf("a context ends with another one, and with %v", one.Err())
	}
}
