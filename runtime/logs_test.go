package lockrt_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// onLog calls a function with each record.
type onLog struct {
	slog.Handler
	do func(slog.Record)
}

func (h onLog) Enabled(context.Context, slog.Level) bool { return true }

func (h onLog) Handle(_ context.Context, r slog.Record) error {
	h.do(r)
	return nil
}

// A log that is stuck holds up neither the end of other leases nor the locks of those that were broken.
func TestLocker_lossesDoNotWaitForTheLog(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, others *lockrt.Locker) {
		stuck := make(chan struct{})
		let := sync.OnceFunc(func() { close(stuck) })
		defer let()
		locks := newLocker(t, store, lockrt.Config{Logger: slog.New(onLog{do: func(slog.Record) { <-stuck }})})
		var leases []*lockrt.Lease
		for _, key := range []string{"a", "b", "c"} {
			leases = append(leases, mustAcquire(t, locks, t.Context(), key, lockrt.Options{TTL: time.Hour}))
		}
		for _, lease := range leases {
			if err := others.Break(t.Context(), lease.Key(), "test"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := lease.Err(); !errors.Is(err, lockrt.ErrLost) {
				t.Errorf("the lease on %q while the log is stuck: %v, want ErrLost", lease.Key(), err)
			}
			mustAcquire(t, others, t.Context(), lease.Key(), lockrt.Options{TTL: ttl})
		}
		let()
	})
}

// A log that is told of renewals that fail, and that is stuck or closes the Locker, holds up no Close either.
func TestLocker_Close_whileTheLogOfRenewalsIsStuck(t *testing.T) {
	for name, closes := range map[string]bool{"is stuck": false, "closes": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
				stuck := make(chan struct{})
				let := sync.OnceFunc(func() { close(stuck) })
				defer let()
				var locks *lockrt.Locker
				closed := make(chan error, 1)
				end := func() { closed <- locks.Close(context.Background()) }
				do := func(slog.Record) { <-stuck }
				if closes {
					once := sync.OnceFunc(end)
					do = func(slog.Record) { once() }
				}
				locks = newLocker(t, store, lockrt.Config{Logger: slog.New(onLog{do: do})})
				mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
				store.set(func(s *faultStore) {
					s.renew = func(_ context.Context, renewals []lockrt.Renewal, _ lockrt.Session) []error {
						return failAll(renewals, errors.New("down"))
					}
				})
				time.Sleep(30 * time.Minute)
				if !closes {
					go end()
				}
				select {
				case err := <-closed:
					if err != nil {
						t.Error(err)
					}
				case <-time.After(10 * time.Second):
					t.Error("Close has not returned after 10 s")
				}
				let()
			})
		})
	}
}

// Close waits for the log, and not for ever: the log may wait for Close.
func TestLocker_Close_calledByTheLog(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, others *lockrt.Locker) {
		var locks *lockrt.Locker
		closed := make(chan error, 1)
		closing := sync.OnceFunc(func() { closed <- locks.Close(context.Background()) })
		locks = newLocker(t, store, lockrt.Config{Logger: slog.New(onLog{do: func(slog.Record) { closing() }})})
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		if err := others.Break(t.Context(), "k", "test"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := <-closed; err != nil || time.Since(began) > 5*time.Second {
			t.Errorf("Close: %v after %s", err, time.Since(began))
		}
	})
}
