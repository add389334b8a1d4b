package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	_ "github.com/lockgen/lockgen/runtime/memstore"
)

// A Pair is a function with a directive and its wrapper. Of methods, both take the receiver first.
type Pair struct {
	Name          string
	Method        bool
	Keys          int
	Skips         bool // busy=skip
	Body, Wrapper any
}

// Check calls bodies and wrappers with equal arguments in every mode and compares what can be seen.
func Check(t *testing.T, pairs []Pair) {
	locks, err := lockrt.Open(t.Context(), "memory:", lockrt.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	Locks = locks
	defer locks.Close(context.Background())
	for _, p := range pairs {
		for _, m := range []mode{plain, fails, panics, exits, loses, cancel} {
			t.Run(p.Name+"/"+string(m), func(t *testing.T) { p.compare(t, m) })
		}
		t.Run(p.Name+"/busy", p.busy)
		t.Run(p.Name+"/cancelled", p.cancelled)
	}
}

// An outcome is all that a caller and a body can see of a call.
type outcome struct {
	results []any
	err     error
	ended   string // returned, panic or Goexit
	args    []any
	ran     int
	held    []string
}

func (p Pair) call(fn any, ctx context.Context, m mode) outcome {
	now.mode, now.ran, now.args, now.held = m, 0, nil, nil
	ctx, now.cancel = context.WithCancel(ctx)
	defer now.cancel()
	f := reflect.ValueOf(fn)
	args := p.arguments(f.Type(), ctx)
	var o outcome
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.ended = "Goexit"
		defer func() {
			if r := recover(); r != nil {
				o.ended = fmt.Sprint("panic: ", r)
			}
		}()
		var out []reflect.Value
		if f.Type().IsVariadic() {
			out = f.CallSlice(args)
		} else {
			out = f.Call(args)
		}
		o.ended = "returned"
		for i, v := range out {
			if i == len(out)-1 && v.Type() == reflect.TypeFor[error]() {
				o.err, _ = v.Interface().(error)
			} else {
				o.results = append(o.results, v.Interface())
			}
		}
	}()
	<-done
	o.args, o.ran, o.held = now.args, now.ran, now.held
	return o
}

// compare expects of the wrapper what the body does, and of the locks that they are held then and free afterwards.
func (p Pair) compare(t *testing.T, m mode) {
	want := p.call(p.Body, t.Context(), m)
	if want.ran != 1 {
		t.Fatalf("the body ran %d times by itself", want.ran)
	}
	got := p.call(p.Wrapper, t.Context(), m)
	if got.ran != 1 || got.ended != want.ended {
		t.Fatalf("ran %d times and %s (%v), the body %s", got.ran, got.ended, got.err, want.ended)
	}
	if !reflect.DeepEqual(visible(got.args), visible(want.args)) {
		t.Errorf("passed on %v, want %v", got.args, want.args)
	}
	if !reflect.DeepEqual(visible(got.results), visible(want.results)) {
		t.Errorf("returned %v, the body %v", got.results, want.results)
	}
	if m == loses {
		if !errors.Is(got.err, lockrt.ErrLost) {
			t.Errorf("error %v, want ErrLost", got.err)
		}
	} else if got.err != want.err {
		t.Errorf("error %v, want %v itself", got.err, want.err)
	}
	if len(got.held) != p.Keys {
		t.Errorf("held %v, want %d keys", got.held, p.Keys)
	}
	if left := heldKeys(); len(left) > 0 {
		t.Errorf("still locked: %v", left)
	}
}

// busy holds one of the wrapper's keys: the body must not run.
func (p Pair) busy(t *testing.T) {
	keys := p.call(p.Wrapper, t.Context(), plain).held
	for _, key := range keys {
		lease, err := Locks.Acquire(t.Context(), key, lockrt.Options{TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		got := p.call(p.Wrapper, t.Context(), plain)
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got.ran != 0 {
			t.Errorf("%s: the body ran without the lock", key)
		}
		if p.Skips && got.err != nil || !p.Skips && !errors.Is(got.err, lockrt.ErrBusy) {
			t.Errorf("%s: error %v", key, got.err)
		}
		for _, r := range got.results {
			if v := reflect.ValueOf(r); v.IsValid() && !v.IsZero() {
				t.Errorf("%s: result %v, want the zero value", key, r)
			}
		}
	}
}

// cancelled: nothing runs for a caller that has gone already.
func (p Pair) cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := p.call(p.Wrapper, ctx, plain)
	if got.ran != 0 || !errors.Is(got.err, context.Canceled) {
		t.Errorf("ran %d times, error %v", got.ran, got.err)
	}
}

// visible replaces what never compares equal by what it is.
func visible(values []any) []any {
	var all []any
	for _, v := range values {
		if r := reflect.ValueOf(v); r.IsValid() && r.Kind() == reflect.Func {
			v = fmt.Sprintf("func nil=%t %s", r.IsNil(), r.Type())
		}
		all = append(all, v)
	}
	return all
}
