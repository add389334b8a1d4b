package jobs

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
const scope = "github.com/lockgen/lockgen/jobs"

// telemetry records to OpenTelemetry. A nil *telemetry records nothing and costs nothing, which is the default. The
// job's name is an attribute of metrics: jobs are declared in code, and are looked after one by one.
type telemetry struct {
	tracer             trace.Tracer
	lateness, duration metric.Float64Histogram
	runs, ticksMissed  metric.Int64Counter
	claims             metric.Int64Counter
	running            metric.Int64UpDownCounter
	statuses           map[ClaimStatus]metric.MeasurementOption
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
	t := &telemetry{tracer: cfg.TracerProvider.Tracer(scope), statuses: make(map[ClaimStatus]metric.MeasurementOption)}
	names := map[ClaimStatus]string{ClaimWon: "won", ClaimTaken: "taken", ClaimEarly: "early", ClaimPaused: "paused",
		ClaimBusy:  "busy",
		ClaimStale: "stale", ClaimUnknown: "unknown"}
	for status, name := range names {
		t.statuses[status] = metric.WithAttributeSet(attribute.NewSet(attribute.String("job.claim", name)))
	}
	meter := cfg.MeterProvider.Meter(scope)
	seconds := metric.WithUnit("s")
	late := metric.WithExplicitBucketBoundaries(.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300,
		3600)
	long := metric.WithExplicitBucketBoundaries(.005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600, 4*3600,
		12*3600)
	var errs [6]error
	t.lateness, errs[0] = meter.Float64Histogram("lockgen.job.lateness", seconds, late,
		metric.WithDescription("Time from when a tick was due, its jitter included, to when its work began, by trigger."))
	t.duration, errs[1] = meter.Float64Histogram("lockgen.job.duration", seconds, long,
		metric.WithDescription("Time that the work of a run took, by outcome."))
	t.runs, errs[2] = meter.Int64Counter("lockgen.job.runs",
		metric.WithDescription("Records of runs, by outcome and trigger."))
	t.claims, errs[3] = meter.Int64Counter("lockgen.job.claims",
		metric.WithDescription("Claims of ticks, by how they went."))
	t.ticksMissed, errs[4] = meter.Int64Counter("lockgen.job.missed",
		metric.WithDescription("Ticks that were not run by the job's policy for missed ticks."))
	t.running, errs[5] = meter.Int64UpDownCounter("lockgen.job.running",
		metric.WithDescription("Runs that are at work."))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("jobs.New: Config.MeterProvider: %w", err)
	}
	return t, nil
}

func byJob(name string, more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(append(more, attribute.String("job.name", name))...)
}

// started begins to measure a run. The context is that of the work, within the run's span; done ends both, as of when
// the work ended.
func (t *telemetry) started(ctx context.Context, r *Run, jitter time.Duration) (work context.Context,
	done func(ending)) {
	if t == nil {
		return ctx, func(ending) {}
	}
	began := time.Now()
	t.lateness.Record(ctx, r.Started.Sub(r.Tick.Add(jitter)).Seconds(),
		byJob(r.Job, attribute.String("job.trigger", r.Trigger)))
	t.running.Add(ctx, 1, byJob(r.Job))
	ctx, span := t.tracer.Start(ctx, "job.run", trace.WithNewRoot(), trace.WithAttributes(
		attribute.String("job.name", r.Job), attribute.String("job.run", r.ID), attribute.String("job.node", r.Node),
		attribute.String("job.tick", r.Tick.Format(time.RFC3339Nano)), attribute.String("job.trigger", r.Trigger),
		attribute.Int("job.attempt", r.Attempt), attribute.Int64("lock.fence", int64(r.Fence)),
	))
	return ctx, func(e ending) {
		outcome := attribute.String("job.outcome", string(e.outcome))
		t.running.Add(ctx, -1, byJob(r.Job))
		took := r.Ended.Sub(r.Started)
		t.duration.Record(ctx, took.Seconds(), byJob(r.Job, outcome))
		span.SetAttributes(outcome)
		if e.outcome != OutcomeOK {
			span.SetStatus(codes.Error, firstOf(e.reason, e.text))
		}
		span.End(trace.WithTimestamp(began.Add(took)))
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// finished counts a record.
func (t *telemetry) finished(r Run) {
	if t != nil {
		t.runs.Add(context.Background(), 1, byJob(r.Job,
			attribute.String("job.outcome", string(r.Outcome)), attribute.String("job.trigger", r.Trigger)))
	}
}

func (t *telemetry) claimed(status ClaimStatus) {
	if t != nil {
		t.claims.Add(context.Background(), 1, t.statuses[status])
	}
}

func (t *telemetry) missed(job string, n int64) {
	if t != nil && n > 0 {
		t.ticksMissed.Add(context.Background(), n, byJob(job))
	}
}
