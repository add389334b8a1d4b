package lockrt_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/lockgen/lockgen/internal/timelimit"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// The holder hears of a Break now, not from its next renewal.
func TestLocker_Break_endsTheHoldersContextAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newLocker(t, store, lockrt.Config{}), newLocker(t, store, lockrt.Config{Node: "ops"})
		lease := mustAcquire(t, a, t.Context(), "k", lockrt.Options{TTL: ttl})
		began := time.Now()
		if err := b.Break(t.Context(), "k", "it hangs"); err != nil {
			t.Fatal(err)
		}
		<-lease.Context().Done()
		if d := time.Since(began); d != 0 {
			t.Errorf("the holder was told after %s", d)
		}
		cause := context.Cause(lease.Context())
		if !errors.Is(cause, lockrt.ErrLost) || !strings.Contains(cause.Error(), "broken by ops: it hangs") {
			t.Errorf("the cause is %v, want ErrLost, and who broke it why", cause)
		}
	})
}

// A lease that is lost because the store did not answer may be there still. It is given back when it is released, and by Close.
func TestLost_withoutAnswer(t *testing.T) {
	release := func(_ *lockrt.Locker, lease *lockrt.Lease) error { return lease.Release(context.Background()) }
	closes := func(locks *lockrt.Locker, _ *lockrt.Lease) error { return locks.Close(context.Background()) }
	for name, tt := range map[string]struct {
		end  func(*lockrt.Locker, *lockrt.Lease) error
		kept time.Duration
	}{
		"released":             {end: release},
		"released, MinHold":    {end: release, kept: 2 * time.Hour},
		"the Locker is closed": {end: closes},
		"closed, MinHold":      {end: closes, kept: 2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &faultStore{Store: memstore.New()}
				locks, others := newLocker(t, store, lockrt.Config{}), newLocker(t, store.Store, lockrt.Config{})
				began := time.Now()
				lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour, MinHold: tt.kept})
				time.Sleep(time.Minute)
				for _, held := range store.cfg.Held() {
					store.cfg.Lost(held.ID, timelimit.ErrNoAnswer)
				}
				if err := lease.Err(); !errors.Is(err, lockrt.ErrLost) {
					t.Errorf("the lease: %v, want ErrLost", err)
				}
				if held := store.cfg.Held(); len(held) > 0 {
					t.Errorf("the Locker believes in %v", held)
				}
				if err := tt.end(locks, lease); err != nil && !errors.Is(err, lockrt.ErrLost) {
					t.Error(err)
				}
				mustAcquire(t, others, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: 3 * time.Hour})
				if took := time.Since(began); took < tt.kept || took > max(tt.kept, time.Minute) {
					t.Errorf("it goes on after %s, want %s", took, tt.kept)
				}
			})
		})
	}
}

// The same before the answer that grants it is known.
func TestLost_withoutAnswerBeforeTheGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faultStore{Store: memstore.New()}
		locks, others := newLocker(t, store, lockrt.Config{}), newLocker(t, store.Store, lockrt.Config{})
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				grant, err := real.Acquire(ctx, req)
				store.cfg.Lost(req.ID, timelimit.ErrNoAnswer)
				return grant, err
			}
		})
		if _, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Hour}); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("acquire: %v, want ErrLost", err)
		}
		mustAcquire(t, others, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: time.Second})
	})
}

func TestLocker_Close_thenTheStoreIsNotAsked(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		locks := newLocker(t, store, lockrt.Config{})
		if err := locks.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		var asked atomic.Int32
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				asked.Add(1)
				return real.Acquire(ctx, req)
			}
		})
		if _, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: ttl}); !errors.Is(err, lockrt.ErrClosed) {
			t.Errorf("the error is %v, want ErrClosed", err)
		}
		if n := asked.Load(); n != 0 {
			t.Errorf("the store was asked %d times", n)
		}
	})
}

func TestBusyError_saysWhoHoldsTheLock(t *testing.T) {
	for want, err := range map[string]*lockrt.BusyError{
		`lock "k" is busy`: {Key: "k"},
		`lock "k" is busy: kept for another 2s after its holder has gone (MinHold)`: {Key: "k", Remaining: 2 * time.Second},
		`lock "k" is busy: held by web-1 for another 2s unless renewed`:             {Key: "k", Holder: "web-1", Remaining: 2 * time.Second},
	} {
		if got := err.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Each instrument that cannot be made is an error of New, not a panic at the first use.
func TestConfig_MeterProvider_thatFails(t *testing.T) {
	for _, name := range []string{"wait", "hold", "acquisitions", "lost", "renew.errors", "held", "waiting"} {
		_, err := lockrt.New(memstore.New(), lockrt.Config{MeterProvider: failingMeters{fails: "lockgen.lock." + name}})
		if !errors.Is(err, lockrt.ErrOptions) || !errors.Is(err, errMeter) {
			t.Errorf("lockgen.lock.%s cannot be made: %v, want ErrOptions with the cause", name, err)
		}
	}
}

var errMeter = errors.New("no such instrument")

// failingMeters makes every instrument but one.
type failingMeters struct {
	noop.MeterProvider
	fails string
}

func (p failingMeters) Meter(string, ...metric.MeterOption) metric.Meter {
	return failingMeter{fails: p.fails}
}

type failingMeter struct {
	noop.Meter
	fails string
}

func (m failingMeter) err(name string) error {
	if name == m.fails {
		return errMeter
	}
	return nil
}

func (m failingMeter) Float64Histogram(
	name string, _ ...metric.Float64HistogramOption,
) (metric.Float64Histogram, error) {
	return noop.Float64Histogram{}, m.err(name)
}

func (m failingMeter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return noop.Int64Counter{}, m.err(name)
}

func (m failingMeter) Int64UpDownCounter(
	name string, _ ...metric.Int64UpDownCounterOption,
) (metric.Int64UpDownCounter, error) {
	return noop.Int64UpDownCounter{}, m.err(name)
}

// A reason may be anything; errors and logs get one line of text.
func TestLocker_Break_reasonOfAnyKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := newLocker(t, memstore.New(), lockrt.Config{})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		if err := locks.Break(t.Context(), "k", "a\nb\x00c\xff"+strings.Repeat("x", 1<<20)); err != nil {
			t.Fatal(err)
		}
		cause := context.Cause(lease.Context()).Error()
		if !strings.Contains(cause, "a b c\ufffdx") || len(cause) > 2000 || strings.Contains(cause, "\x00") {
			t.Errorf("the cause is %.200q of %d bytes", cause, len(cause))
		}
		lease = mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		if err := locks.Break(t.Context(), "k", "xx"+strings.Repeat("漢", 400)); err != nil {
			t.Fatal(err)
		}
		if cause := context.Cause(lease.Context()).Error(); !strings.Contains(cause, "漢…") || strings.Contains(cause, "\ufffd") {
			t.Errorf("the cause is cut within a character: %q", cause)
		}
	})
}
