package lockrt_test

import (
	"context"
	"errors"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestLease_Extend(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		start := time.Now()
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: true})
		if err := lease.Extend(t.Context(), 3*ttl); err != nil {
			t.Fatal(err)
		}
		if err := lease.Extend(t.Context(), ttl); err != nil {
			t.Fatal(err)
		}
		if err := lease.Extend(t.Context(), -1); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("a negative extension: %v, want ErrOptions", err)
		}
		cause := errors.New("connection reset")
		store.set(func(s *faultStore) {
			s.renew = func(_ context.Context, r []lockrt.Renewal, _ lockrt.Session) []error { return failAll(r, cause) }
		})
		if err := lease.Extend(t.Context(), 100*ttl); !errors.Is(err, cause) {
			t.Errorf("an extension that failed: %v, want its cause", err)
		}
		<-lease.Done()
		if held, want := time.Since(start), 3*ttl-3*ttlMargin; held != want {
			t.Errorf("ended after %s, want %s: a shorter or failed extension changes nothing", held, want)
		}
		if err := lease.Extend(t.Context(), ttl); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("extension of a lost lease: %v, want ErrLost", err)
		}
	})
}

// An extension is the length of all further renewals, if it is longer than the TTL.
func TestLease_Extend_renewalsAreAsLong(t *testing.T) {
	for name, test := range map[string]struct{ by, want time.Duration }{
		"longer": {3 * ttl, 3 * ttl}, "shorter": {ttl / 3, ttl},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
				lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
				if err := lease.Extend(t.Context(), test.by); err != nil {
					t.Fatal(err)
				}
				renewed := make(chan time.Duration, 1)
				store.set(func(s *faultStore) {
					s.renew = func(_ context.Context, renewals []lockrt.Renewal, _ lockrt.Session) []error {
						renewed <- renewals[0].TTL
						return failAll(renewals, lockrt.ErrLost)
					}
				})
				if got := <-renewed; got != test.want {
					t.Errorf("after Extend by %s of a lease of %s it is renewed by %s, want %s", test.by, ttl, got, test.want)
				}
			})
		})
	}
}
