package lockrt_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// logged collects the messages of a Locker.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(b))
	return len(b), nil
}

func (l *logged) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// Failing renewals are logged when they begin, when the reason changes, and when they end; not with every try.
func TestLocker_logsTransitionsOfRenewals(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		log := new(logged)
		locks := newLocker(t, store, lockrt.Config{Logger: slog.New(slog.NewTextHandler(log, nil))})
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		fail := func(err error) {
			store.set(func(s *faultStore) {
				s.renew = func(_ context.Context, r []lockrt.Renewal, _ lockrt.Session) []error { return failAll(r, err) }
			})
		}
		fail(errors.New("refused"))
		time.Sleep(25 * time.Minute)
		if n := log.count("not renewed"); n != 1 {
			t.Errorf("%d lines of one failure, want 1", n)
		}
		fail(errors.New("reset"))
		time.Sleep(10 * time.Second)
		if n := log.count("not renewed"); n != 2 {
			t.Errorf("%d lines after the reason changed, want 2", n)
		}
		store.set(func(s *faultStore) { s.renew = nil })
		time.Sleep(30 * time.Minute)
		if n := log.count("renewed again"); n != 1 {
			t.Errorf("%d lines of the end, want 1", n)
		}
	})
}

// One lease cannot be renewed and others can, as where somebody keeps its row locked in a database. That is no end of the
// failure.
func TestLocker_logsTransitionsOfRenewals_oneFails(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		log := new(logged)
		locks := newLocker(t, store, lockrt.Config{Logger: slog.New(slog.NewTextHandler(log, nil))})
		store.set(func(s *faultStore) {
			s.renew = func(ctx context.Context, r []lockrt.Renewal, real lockrt.Session) []error {
				errs := real.Renew(ctx, r)
				for i := range r {
					if r[i].Key == "kept" {
						errs[i] = errors.New("locked")
					}
				}
				return errs
			}
		})
		kept := mustAcquire(t, locks, t.Context(), "kept", lockrt.Options{TTL: time.Hour})
		for i := range 5 {
			mustAcquire(t, locks, t.Context(), fmt.Sprint("k", i), lockrt.Options{TTL: time.Duration(i+1) * time.Second})
		}
		time.Sleep(40 * time.Minute)
		if n, again := log.count("not renewed"), log.count("renewed again"); n != 1 || again != 0 {
			t.Errorf("%d lines of one failure, and %d of its end, want 1 and 0", n, again)
		}
		<-kept.Done()
		time.Sleep(time.Minute)
		if n := log.count("renewed again"); n != 1 {
			t.Errorf("%d lines of the end, want 1", n)
		}
	})
}

// An alert looks for an increase: the series has to be there before the first loss.
func TestConfig_MeterProvider_countersBeginAtZero(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		reader := metric.NewManualReader()
		newLocker(t, store, lockrt.Config{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
		got := collect(t, reader)
		for _, name := range []string{
			"lockgen.lock.lost", "lockgen.lock.renew.errors", "lockgen.lock.held", "lockgen.lock.waiting",
			"lockgen.lock.acquisitions acquired", "lockgen.lock.acquisitions busy", "lockgen.lock.acquisitions error",
		} {
			if value, ok := got[name]; !ok || value != 0 {
				t.Errorf("%s is %v (there: %v), want 0", name, value, ok)
			}
		}
	})
}
