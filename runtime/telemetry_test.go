package lockrt_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	otelmetric "go.opentelemetry.io/otel/metric"
	nometric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

func TestConfig_MeterProvider(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		reader := metric.NewManualReader()
		locks := newLocker(t, store, lockrt.Config{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
		o := lockrt.Options{TTL: ttl, NoRenew: true}

		released := mustAcquire(t, locks, t.Context(), "a", o)
		time.Sleep(time.Second)
		if err := released.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		lost := mustAcquire(t, locks, t.Context(), "b", o)
		<-lost.Done()
		mustAcquire(t, locks, t.Context(), "c", lockrt.Options{TTL: ttl}) // stays held
		if _, err := locks.TryAcquire(t.Context(), "c", o); !errors.Is(err, lockrt.ErrBusy) {
			t.Fatal(err)
		}
		store.set(func(s *faultStore) {
			s.renew = func(_ context.Context, r []lockrt.Renewal, _ lockrt.Session) []error {
				return failAll(r, errors.New("reset"))
			}
			s.acquire = func(context.Context, lockrt.Request, lockrt.Session) (lockrt.Grant, error) {
				return lockrt.Grant{}, errors.New("refused")
			}
		})
		_, _ = locks.Acquire(t.Context(), "d", o)
		time.Sleep(ttl / 2)

		got := collect(t, reader)
		for name, want := range map[string]float64{
			"lockgen.lock.acquisitions acquired": 3,
			"lockgen.lock.acquisitions busy":     1,
			"lockgen.lock.acquisitions error":    1,
			"lockgen.lock.lost":                  1,
			"lockgen.lock.held":                  1,
			"lockgen.lock.waiting":               0,
			"lockgen.lock.hold sum":              (time.Second + ttl - ttlMargin).Seconds(),
		} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
		if got["lockgen.lock.renew.errors"] == 0 {
			t.Error("the failed renewals are not counted")
		}
	})
}

// Keys that are asked for at the same time count like others.
func TestConfig_MeterProvider_acquireAll(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		reader := metric.NewManualReader()
		locks := newLocker(t, store, lockrt.Config{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
		var keys []string
		for i := range 10 {
			keys = append(keys, fmt.Sprint(i))
		}
		leases, err := locks.AcquireAll(t.Context(), keys, lockrt.Options{TTL: ttl, Wait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		got := collect(t, reader)
		if held, acquired := got["lockgen.lock.held"], got["lockgen.lock.acquisitions acquired"]; held != 10 || acquired != 10 {
			t.Errorf("%v leases are held of %v acquired, want 10 of 10", held, acquired)
		}
		if err := leases.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if held := collect(t, reader)["lockgen.lock.held"]; held != 0 {
			t.Errorf("%v leases are held behind the release", held)
		}
	})
}

// collect returns the metrics as "name outcome" or "name sum".
func collect(t *testing.T, reader *metric.ManualReader) map[string]float64 {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch points := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range points.DataPoints {
					name := m.Name
					if outcome, ok := p.Attributes.Value("lock.outcome"); ok {
						name += " " + outcome.AsString()
					}
					got[name] += float64(p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range points.DataPoints {
					got[m.Name+" sum"] += p.Sum
				}
			default:
				t.Errorf("metric %s is a %s", m.Name, fmt.Sprintf("%T", points))
			}
		}
	}
	return got
}

func TestConfig_TracerProvider(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		spans := tracetest.NewSpanRecorder()
		locks := newLocker(t, store, lockrt.Config{TracerProvider: trace.NewTracerProvider(trace.WithSpanProcessor(spans))})
		lease := mustAcquire(t, locks, t.Context(), "order:42", lockrt.Options{TTL: ttl})
		_, _ = locks.TryAcquire(t.Context(), "order:42", lockrt.Options{TTL: ttl})
		ended := spans.Ended()
		if len(ended) != 2 {
			t.Fatalf("%d spans, want 2", len(ended))
		}
		for i, want := range []map[string]string{
			{"lock.key": "order:42", "lock.outcome": "acquired", "lock.fence": lease.Fence().String()},
			{"lock.key": "order:42", "lock.outcome": "busy"},
		} {
			got := make(map[string]string)
			for _, a := range ended[i].Attributes() {
				got[string(a.Key)] = a.Value.Emit()
			}
			for name, value := range want {
				if got[name] != value {
					t.Errorf("span %d has %s=%q, want %q", i, name, got[name], value)
				}
			}
		}
	})
}

// A tracer of the caller's own panics when the lock is taken. Nobody has the lease then; it must not be renewed for ever.
func TestLocker_Acquire_tracerThatPanics(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		bad := newLocker(t, store, lockrt.Config{TracerProvider: panickyProvider{}})
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is swallowed")
				}
			}()
			_, _ = bad.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl})
		}()
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
	})
}

type panickyProvider struct{ noop.TracerProvider }

func (panickyProvider) Tracer(string, ...oteltrace.TracerOption) oteltrace.Tracer {
	return panickyTracer{}
}

type panickyTracer struct{ noop.Tracer }

func (panickyTracer) Start(ctx context.Context, _ string, _ ...oteltrace.SpanStartOption) (context.Context, oteltrace.Span) {
	return ctx, panickySpan{}
}

type panickySpan struct{ noop.Span }

func (panickySpan) End(...oteltrace.SpanEndOption) { panic("the tracer is broken") }

// hookedMeters make histograms that call back into the program, as those of others may.
type hookedMeters struct {
	nometric.MeterProvider
	record func()
}

func (m hookedMeters) Meter(string, ...otelmetric.MeterOption) otelmetric.Meter {
	return hookedMeter{record: m.record}
}

type hookedMeter struct {
	nometric.Meter
	record func()
}

func (m hookedMeter) Float64Histogram(
	string, ...otelmetric.Float64HistogramOption,
) (otelmetric.Float64Histogram, error) {
	return hookedHistogram{record: m.record}, nil
}

type hookedHistogram struct {
	nometric.Float64Histogram
	record func()
}

func (h hookedHistogram) Record(context.Context, float64, ...otelmetric.RecordOption) { h.record() }

// What hears of the end of a lease may ask for it, release it, and close its Locker.
func TestConfig_MeterProvider_callsBack(t *testing.T) {
	for name, call := range map[string]func(*lockrt.Locker, *lockrt.Lease){
		"Err":     func(_ *lockrt.Locker, lease *lockrt.Lease) { _ = lease.Err() },
		"Release": func(_ *lockrt.Locker, lease *lockrt.Lease) { _ = lease.Release(context.Background()) },
		"Close":   func(locks *lockrt.Locker, _ *lockrt.Lease) { _ = locks.Close(context.Background()) },
	} {
		for how, end := range map[string]func(others *lockrt.Locker){
			"MaxHold": func(*lockrt.Locker) { time.Sleep(ttl) },
			"Break":   func(others *lockrt.Locker) { _ = others.Break(context.Background(), "k", "test") },
		} {
			t.Run(name+" at "+how, func(t *testing.T) {
				bubble(t, func(t *testing.T, store *faultStore, others *lockrt.Locker) {
					var lease atomic.Pointer[lockrt.Lease]
					var locks *lockrt.Locker
					called := make(chan bool, 1)
					hook := sync.OnceFunc(func() {
						call(locks, lease.Load())
						called <- true
					})
					ended := func() {
						if lease.Load() != nil {
							hook()
						}
					}
					locks = newLocker(t, store, lockrt.Config{MeterProvider: hookedMeters{record: ended}})
					lease.Store(mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour, MaxHold: ttl}))
					go end(others)
					select {
					case <-called:
					case <-time.After(time.Minute):
						t.Error("the call has not returned after a minute")
					}
				})
			})
		}
	}
}

// What hears of the end of a lease is slow. The other leases end in time all the same, and Close returns with its context.
func TestConfig_MeterProvider_slow(t *testing.T) {
	for name, o := range map[string]lockrt.Options{
		"deadline": {TTL: 10 * time.Second, NoRenew: true},
		"Close":    {TTL: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				slow := new(atomic.Bool)
				record := func() {
					if slow.Load() {
						time.Sleep(time.Minute)
					}
				}
				cfg := lockrt.Config{Logger: quiet(), MeterProvider: hookedMeters{record: record}}
				locks, err := lockrt.New(memstore.New(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				var leases []*lockrt.Lease
				for i := range 5 {
					leases = append(leases, mustAcquire(t, locks, t.Context(), fmt.Sprint(i), o))
				}
				slow.Store(true)
				if name == "Close" {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					began := time.Now()
					if err := locks.Close(ctx); err == nil || time.Since(began) > time.Second+bound {
						t.Errorf("close: %v after %s", err, time.Since(began))
					}
				} else {
					time.Sleep(time.Until(leases[0].Deadline()) + time.Millisecond)
				}
				for i, lease := range leases {
					if lease.Context().Err() == nil {
						t.Errorf("lease %d lives on", i)
					}
				}
				slow.Store(false)
				time.Sleep(time.Minute) // the meter's last call returns
				_ = locks.Close(t.Context())
			})
		})
	}
}
