package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_telemetry checks what one good run, one bad one and some missed ticks leave behind.
func TestScheduler_telemetry(t *testing.T) {
	t.Parallel()
	reader, spans := sdkmetric.NewManualReader(), tracetest.NewSpanRecorder()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{
			MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
			TracerProvider: trace.NewTracerProvider(trace.WithSpanProcessor(spans)),
		}, 0)
		fail := errors.New("no such table")
		n.MustAdd(Job{Name: "good", Spec: "1 * * * *", Run: jobstest.Sleep(2 * time.Second)})
		n.MustAdd(Job{Name: "bad", Spec: "2 * * * *", Run: func(context.Context) error { return fail }})
		n.MustAdd(Job{Name: "skips", Spec: "3,4,5 * * * *", Misfire: MisfireSkip, Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(150 * time.Second)
		n.CutJobs(true)
		time.Sleep(4 * time.Minute)
		n.CutJobs(false)
		time.Sleep(10 * time.Second)
		c.Stop()
		if got := attributesOf(t, reader, "lockgen.job.missed"); got["skips "] != 3 {
			t.Errorf("missed %v, want three", got)
		}
		if got := attributesOf(t, reader, "lockgen.job.duration"); got["good ok"] != 1 || got["bad error"] != 1 ||
			len(got) != 2 {
			t.Errorf("durations %v, want one of good, ok, and one of bad, error", got)
		}
		if got := attributesOf(t, reader, "lockgen.job.lateness"); got["good "] != 1 || got["bad "] != 1 {
			t.Errorf("lateness %v, want one of each job", got)
		}
		if got := attributesOf(t, reader, "lockgen.job.claims"); got[" won"] != 3 {
			t.Errorf("claims %v, want three won: two runs, and one that skips", got)
		}
		for job, running := range attributesOf(t, reader, "lockgen.job.running") {
			if running != 0 {
				t.Errorf("%d runs of %s at work after the end", running, job)
			}
		}
	})
	for _, span := range spans.Ended() {
		if span.Name() != "job.run" || span.Parent().IsValid() {
			t.Errorf("span %s with parent %v, want job.run, on its own", span.Name(), span.Parent())
		}
	}
	if n := len(spans.Ended()); n != 2 {
		t.Errorf("%d spans, want one for each run", n)
	}
}

// attributesOf sums a metric up by job and outcome (or how a claim went).
func attributesOf(t *testing.T, reader *sdkmetric.ManualReader, name string) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	sums := make(map[string]int64)
	key := func(set attribute.Set) string {
		job, _ := set.Value("job.name")
		outcome, ok := set.Value("job.outcome")
		if !ok {
			outcome, _ = set.Value("job.claim")
		}
		return job.AsString() + " " + outcome.AsString()
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					sums[key(p.Attributes)] += p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					sums[key(p.Attributes)] += int64(p.Count)
				}
			}
		}
	}
	return sums
}
