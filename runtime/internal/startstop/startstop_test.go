package startstop_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/runtime/internal/startstop"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGate_Close_ends(t *testing.T) {
	g := startstop.New()
	if !g.ClosedAt().IsZero() || g.Context().Err() != nil {
		t.Fatal("it was closed before Close")
	}
	stopped := false
	g.Go(func() {
		<-g.Context().Done()
		if g.ClosedAt().IsZero() {
			t.Error("the context ended before the time was known")
		}
		stopped = true
	})
	if !g.Enter() {
		t.Fatal("an open gate let nobody in")
	}
	left := false
	go func() {
		<-g.Context().Done()
		left = true
		g.Leave()
	}()
	end := func() {
		g.Empty()
		g.Stopped()
		if !left || !stopped {
			t.Errorf("the end did not wait: caller left %t, goroutine stopped %t", left, stopped)
		}
	}
	if err := g.Close(t.Context(), end); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := g.Close(t.Context(), nil); err != nil {
		t.Errorf("Close again: %v", err)
	}
	if g.Enter() {
		t.Error("a closed gate let somebody in")
	}
	g.Go(func() { t.Error("a closed gate began a goroutine") })
}

func TestGate_Close_returnsWithContext(t *testing.T) {
	g := startstop.New()
	ctx, cancel := context.WithCancel(t.Context())
	goOn := make(chan struct{})
	end := func() {
		cancel()
		<-goOn
	}
	if err := g.Close(ctx, end); err != context.Canceled {
		t.Errorf("Close with an end that lasts: %v", err)
	}
	close(goOn)
	if err := g.Close(t.Context(), nil); err != nil {
		t.Errorf("Close after the end: %v", err)
	}
}

// Whoever gets in beside Close is waited for.
func TestGate_Close_besideCallers(t *testing.T) {
	for range 200 {
		g := startstop.New()
		var in atomic.Int64
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for g.Enter() {
					in.Add(1)
					g.Go(func() { <-g.Context().Done() })
					in.Add(-1)
					g.Leave()
				}
			})
			all.Go(func() {
				err := g.Close(t.Context(), func() {
					g.Empty()
					if n := in.Load(); n != 0 {
						t.Errorf("%d callers are inside after the end", n)
					}
					g.Stopped()
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}
