package lockrt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// scope names this package as the source of metrics and spans.
const scope = "github.com/lockgen/lockgen/runtime"

// telemetry records to OpenTelemetry. A nil *telemetry records nothing and costs nothing, which is the default. Keys
// are attributes of spans only: as attributes of metrics they would make a time series each.
type telemetry struct {
	tracer    trace.Tracer
	namespace attribute.KeyValue

	wait, hold                       metric.Float64Histogram
	acquisitions, lost, renewsFailed metric.Int64Counter
	held, waiting                    metric.Int64UpDownCounter

	common   metric.MeasurementOption
	outcomes map[string]metric.MeasurementOption
}

func newTelemetry(cfg Config) (*telemetry, error) {
	if cfg.MeterProvider == nil && cfg.TracerProvider == nil {
		return nil, nil
	}
	if cfg.MeterProvider == nil {
		cfg.MeterProvider = noop.NewMeterProvider()
	}
	if cfg.TracerProvider == nil {
		cfg.TracerProvider = tracenoop.NewTracerProvider()
	}
	t := &telemetry{
		tracer: cfg.TracerProvider.Tracer(scope), namespace: attribute.String("lock.namespace", cfg.Namespace),
		outcomes: make(map[string]metric.MeasurementOption),
	}
	t.common = metric.WithAttributeSet(attribute.NewSet(t.namespace))
	for _, outcome := range []string{"acquired", "busy", "cancelled", "closed", "error"} {
		t.outcomes[outcome] = metric.WithAttributeSet(
			attribute.NewSet(t.namespace, attribute.String("lock.outcome", outcome)))
	}
	meter := cfg.MeterProvider.Meter(scope)
	seconds := metric.WithUnit("s")
	buckets := metric.WithExplicitBucketBoundaries(
		.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300)
	var errs [7]error
	t.wait, errs[0] = meter.Float64Histogram("lockgen.lock.wait", seconds, buckets,
		metric.WithDescription("Time from the call of Acquire to its end, by outcome."))
	t.hold, errs[1] = meter.Float64Histogram("lockgen.lock.hold", seconds, buckets,
		metric.WithDescription("Time from the acquisition of a lease to its release or loss."))
	t.acquisitions, errs[2] = meter.Int64Counter("lockgen.lock.acquisitions",
		metric.WithDescription("Calls of Acquire, by outcome."))
	t.lost, errs[3] = meter.Int64Counter("lockgen.lock.lost",
		metric.WithDescription("Leases that ended before they were released."))
	t.renewsFailed, errs[4] = meter.Int64Counter("lockgen.lock.renew.errors",
		metric.WithDescription("Renewals that the store did not answer."))
	t.held, errs[5] = meter.Int64UpDownCounter("lockgen.lock.held", metric.WithDescription("Leases that are held."))
	t.waiting, errs[6] = meter.Int64UpDownCounter("lockgen.lock.waiting",
		metric.WithDescription("Calls of Acquire that are under way."))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("%w: Config.MeterProvider: %w", ErrOptions, err)
	}
	t.begin()
	return t, nil
}

// begin lets every counter exist from the start: an alert on an increase does not see one that begins with its first.
func (t *telemetry) begin() {
	ctx := context.Background()
	for _, counter := range []metric.Int64Counter{t.lost, t.renewsFailed} {
		counter.Add(ctx, 0, t.common)
	}
	for _, outcome := range t.outcomes {
		t.acquisitions.Add(ctx, 0, outcome)
	}
	for _, counter := range []metric.Int64UpDownCounter{t.held, t.waiting} {
		counter.Add(ctx, 0, t.common)
	}
}

// startAcquire begins to measure one Acquire. The returned function, nil for none, ends that. The context of the work
// is not the span's: the work is not part of the acquisition.
func (t *telemetry) startAcquire(ctx context.Context, key string) func(*Lease, error) {
	if t == nil {
		return nil
	}
	began := time.Now()
	ctx, span := t.tracer.Start(ctx, "lock.acquire", trace.WithAttributes(t.namespace, attribute.String("lock.key", key)))
	t.waiting.Add(ctx, 1, t.common)
	return func(lease *Lease, err error) {
		outcome := outcomeOf(err)
		t.waiting.Add(ctx, -1, t.common)
		span.SetAttributes(attribute.String("lock.outcome", outcome))
		if err == nil {
			t.granted(ctx, span, began, lease)
		} else {
			t.wait.Record(ctx, time.Since(began).Seconds(), t.outcomes[outcome])
			t.acquisitions.Add(ctx, 1, t.outcomes[outcome])
		}
		if outcome == "error" {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

// acquired measures a lease that was acquired beside others.
func (t *telemetry) acquired(ctx context.Context, began time.Time, lease *Lease) {
	if t == nil {
		return
	}
	key := attribute.String("lock.key", lease.Key())
	ctx, span := t.tracer.Start(ctx, "lock.acquire", trace.WithTimestamp(began), trace.WithAttributes(t.namespace, key))
	t.granted(ctx, span, began, lease)
	span.SetAttributes(attribute.String("lock.outcome", "acquired"))
	span.End()
}

// granted measures what is the same however a lease was acquired.
func (t *telemetry) granted(ctx context.Context, span trace.Span, began time.Time, lease *Lease) {
	t.wait.Record(ctx, time.Since(began).Seconds(), t.outcomes["acquired"])
	t.acquisitions.Add(ctx, 1, t.outcomes["acquired"])
	t.held.Add(ctx, 1, t.common)
	span.SetAttributes(attribute.Int64("lock.fence", int64(lease.Fence())))
}

func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "acquired"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cancelled"
	case errors.Is(err, ErrBusy):
		return "busy"
	case errors.Is(err, ErrClosed):
		return "closed"
	}
	return "error"
}

// ended records the end of a lease.
func (t *telemetry) ended(leases []*Lease) {
	for _, lease := range leases { // none without telemetry
		ctx := context.Background()
		t.held.Add(ctx, -1, t.common)
		t.hold.Record(ctx, time.Since(lease.since).Seconds(), t.common)
	}
}

func (t *telemetry) leasesLost(n int) {
	if t != nil {
		t.lost.Add(context.Background(), int64(n), t.common)
	}
}

func (t *telemetry) renewalsFailed(n int) {
	if t != nil {
		t.renewsFailed.Add(context.Background(), int64(n), t.common)
	}
}
