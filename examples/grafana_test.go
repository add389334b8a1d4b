package examples

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/embedded"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/lockgen/lockgen/jobs"
	_ "github.com/lockgen/lockgen/jobs/memstore"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// TestGrafana_metricsExist holds the dashboard against the metrics that the
// packages create, both ways: none is misspelt, and none is left out.
func TestGrafana_metricsExist(t *testing.T) {
	made := createdMetrics(t)
	used := map[string]bool{}
	for _, expr := range grafanaQueries(t) {
		for _, name := range regexp.MustCompile(`lockgen_[a-z_]+`).FindAllString(expr, -1) {
			name = strings.TrimSuffix(name, "_bucket")
			used[name] = true
			if !slices.Contains(made, name) {
				t.Errorf("%s is no metric of ours, in: %s", name, expr)
			}
		}
	}
	for _, name := range made {
		if !used[name] {
			t.Errorf("%s is not on the dashboard", name)
		}
	}
}

// grafanaQueries are the PromQL expressions and variables of the dashboard.
func grafanaQueries(t *testing.T) (queries []string) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Definition string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "grafana/lockgen.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
		}
	}
	for _, variable := range dashboard.Templating.List {
		queries = append(queries, variable.Definition)
	}
	return queries
}

// createdMetrics are the metrics of a Locker and a Scheduler, by the names that
// a Prometheus exporter gives them.
func createdMetrics(t *testing.T) []string {
	t.Helper()
	meters := &recordingMeters{}
	locks, err := lockrt.New(memstore.New(), lockrt.Config{MeterProvider: meters})
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close(t.Context())
	if _, err := jobs.New(locks, jobs.Config{MeterProvider: meters}); err != nil {
		t.Fatal(err)
	}
	return meters.names
}

// recordingMeters is a MeterProvider that notes what is created from it.
type recordingMeters struct {
	embedded.MeterProvider
	names []string
}

func (m *recordingMeters) Meter(string, ...metric.MeterOption) metric.Meter {
	return recordingMeter{Meter: noop.NewMeterProvider().Meter(""), to: m}
}

type recordingMeter struct {
	metric.Meter
	to *recordingMeters
}

func (m recordingMeter) note(name, unit, suffix string) {
	if unit == "s" {
		name += "_seconds"
	}
	m.to.names = append(m.to.names, strings.ReplaceAll(name, ".", "_")+suffix)
}

func (m recordingMeter) Float64Histogram(name string, o ...metric.Float64HistogramOption) (metric.Float64Histogram,
	error) {
	m.note(name, metric.NewFloat64HistogramConfig(o...).Unit(), "")
	return m.Meter.Float64Histogram(name, o...)
}

func (m recordingMeter) Int64Counter(name string, o ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	m.note(name, metric.NewInt64CounterConfig(o...).Unit(), "_total")
	return m.Meter.Int64Counter(name, o...)
}

func (m recordingMeter) Int64UpDownCounter(
	name string, o ...metric.Int64UpDownCounterOption,
) (metric.Int64UpDownCounter, error) {
	m.note(name, metric.NewInt64UpDownCounterConfig(o...).Unit(), "")
	return m.Meter.Int64UpDownCounter(name, o...)
}
