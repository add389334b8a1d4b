package lockrt_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// One lock is lost while fn runs, and another one, or the same, cannot be released: the loss is returned, and what the store
// said of the release is logged.
func TestLocker_DoAll_lostAndNotReleased(t *testing.T) {
	for name, of := range map[string]struct {
		keys   []string
		broken string
		result func(context.Context) error
	}{
		"another one":                {[]string{"a", "b"}, "a", func(context.Context) error { return nil }},
		"another one, and the cause": {[]string{"a", "b"}, "a", context.Cause},
		"the same":                   {[]string{"b"}, "", func(context.Context) error { return nil }},
		"the same, and the cause":    {[]string{"b"}, "", context.Cause},
	} {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				store := &faultStore{Store: memstore.New()}
				store.set(func(s *faultStore) {
					s.release = func(ctx context.Context, r lockrt.Release, real lockrt.Session) error {
						if r.Key == "b" {
							return errors.New("refused")
						}
						return real.Release(ctx, r)
					}
					s.renew = func(_ context.Context, r []lockrt.Renewal, _ lockrt.Session) []error {
						return failAll(r, errors.New("no answer"))
					}
				})
				var log testsync.Log
				locks := newLocker(t, store, lockrt.Config{Logger: log.Logger()})
				err := locks.DoAll(t.Context(), of.keys, lockrt.Options{TTL: time.Minute}, func(ctx context.Context, _ lockrt.Leases) error {
					if of.broken != "" {
						if err := newLocker(t, store.Store, lockrt.Config{}).Break(ctx, of.broken, "test"); err != nil {
							t.Error(err)
						}
					}
					<-ctx.Done()
					return of.result(ctx)
				})
				if !errors.Is(err, lockrt.ErrLost) || strings.Contains(err.Error(), "refused") {
					t.Errorf("DoAll: %v, want the loss and nothing else", err)
				}
				synctest.Wait() // the log is written beside it
				if got := log.String(); !strings.Contains(got, "not released after the work") || !strings.Contains(got, "refused") {
					t.Errorf("the failed release is not logged:\n%s", got)
				}
				store.set(takesAll)
			})
		})
	}
}

// A caller gives up its release at a store that answers late; another one that waits for it, or comes later, has what came
// of it.
func TestLease_Release_besideAnImpatientOne(t *testing.T) {
	for name, o := range map[string]lockrt.Options{
		"":            {TTL: 30 * time.Second},
		"with keep":   {TTL: 30 * time.Second, MinHold: 20 * time.Second},
		"of a reader": {TTL: 30 * time.Second, Mode: lockrt.Read},
	} {
		for _, behind := range []time.Duration{0, time.Second, 4 * time.Second, 10 * time.Second} {
			t.Run(name+" "+behind.String(), func(t *testing.T) {
				testsync.Bubble(t, func(t *testing.T) { releaseBesideImpatient(t, o, behind) })
			})
		}
	}
}

func releaseBesideImpatient(t *testing.T, o lockrt.Options, behind time.Duration) {
	store, locks := opened(t)
	lease := mustAcquire(t, locks, t.Context(), "k", o)
	began := time.Now()
	store.set(func(s *faultStore) {
		s.release = func(ctx context.Context, r lockrt.Release, real lockrt.Session) error {
			select {
			case <-ctx.Done():
				return errors.Join(ctx.Err(), real.Release(context.WithoutCancel(ctx), r)) // it is under way
			case <-time.After(3 * time.Second):
				return real.Release(ctx, r)
			}
		}
	})
	var all sync.WaitGroup
	all.Go(func() {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if err := lease.Release(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the impatient one: %v", err)
		}
	})
	synctest.Wait()
	time.Sleep(behind)
	for range 2 {
		if err := lease.Release(t.Context()); err != nil {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	}
	all.Wait()
	if err := locks.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
}

// Callers give up one after the other, at a silent store. Each of the others has its own 5 s, whoever it waits for.
func TestLease_Release_hasItsTimeBesideImpatientOnes(t *testing.T) {
	for name, o := range map[string]lockrt.Options{
		"":            {TTL: 30 * time.Second},
		"with keep":   {TTL: 30 * time.Second, MinHold: 20 * time.Second},
		"of a reader": {TTL: 30 * time.Second, Mode: lockrt.Read},
	} {
		for _, impatient := range []int{1, 10} {
			t.Run(fmt.Sprint(name, impatient), func(t *testing.T) {
				testsync.Bubble(t, func(t *testing.T) {
					store, locks := opened(t)
					lease := mustAcquire(t, locks, t.Context(), "k", o)
					store.set(func(s *faultStore) {
						s.release = func(ctx context.Context, _ lockrt.Release, _ lockrt.Session) error {
							<-ctx.Done()
							return ctx.Err()
						}
					})
					var all sync.WaitGroup
					release := func(ctx context.Context) {
						began := time.Now()
						err := lease.Release(ctx)
						if took := time.Since(began); err == nil || took > 5300*time.Millisecond {
							t.Errorf("release after %s: %v", took, err)
						}
					}
					for i := range impatient {
						all.Go(func() {
							ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*4900*time.Millisecond)
							defer cancel()
							release(ctx)
						})
						all.Go(func() {
							time.Sleep(time.Duration(i)*700*time.Millisecond + time.Millisecond)
							release(context.Background())
						})
					}
					all.Wait()
					store.set(takesAll)
					if err := locks.Close(t.Context()); err != nil {
						t.Errorf("close: %v", err)
					}
				})
			})
		}
	}
}
