package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testetcd"
)

func TestMain(m *testing.M) {
	testetcd.BeServer()
	contenders = append(contenders, noLock, brokenLock)
	if name := os.Getenv(workerEnv); name != "" {
		os.Exit(workerMain(name))
	}
	goleak.VerifyTestMain(m)
}

// noLock gives the lock to everybody; brokenLock cannot be reached.
var (
	noLock     = contender{name: "no-lock", peer: true, open: func(address) (locks, error) { return fakeLocks{}, nil }}
	brokenLock = contender{name: "broken", open: func(address) (locks, error) { return fakeLocks{errBroken}, nil }}
	errBroken  = errors.New("broken for the test")
)

type fakeLocks struct{ err error }

func (f fakeLocks) lock(context.Context, string) (func(context.Context) error, error) {
	return func(context.Context) error { return nil }, f.err
}

func (f fakeLocks) close() error { return nil }

// tiny are all scenarios at sizes that take a moment.
var tiny = []plan{
	{"seeds", seeds{goroutines: 8, each: 2, rounds: 2, limit: 10 * time.Second}},
	{"cluster-contended", clusterContended{crew: crew{processes: 2, waiters: 3, hold: time.Millisecond}, rounds: 1, window: 300 * time.Millisecond}},
	{"idle-wait", idleWait{crews: []crew{{processes: 2, waiters: 3}}, rounds: 1, hold: 100 * time.Millisecond}},
	{"uncontended", uncontended{rounds: 2, goroutines: 4, slice: 20 * time.Millisecond}},
	{"readers", readers{rounds: 1, goroutines: 4, processes: 2, slice: 50 * time.Millisecond, stay: time.Millisecond}},
	{"permits", permits{rounds: 1, waiters: 12, processes: 2, slice: 100 * time.Millisecond, stay: 5 * time.Millisecond}},
	{"renew", renew{leases: 50, ttl: 200 * time.Millisecond, idle: 50 * time.Millisecond, watch: 400 * time.Millisecond}},
	{"memory", memory{keys: 200, callers: 4, retention: time.Second, patience: time.Minute}},
	{"jobs-due", jobsDue{nodes: 2, jobs: 40, every: time.Second, ticks: 1}},
	{"jobs-idle", jobsIdle{nodes: 2, jobs: 40, watch: 100 * time.Millisecond}},
	{"jobs-skew", jobsSkew{nodes: 2, apart: 250 * time.Millisecond, every: time.Second, takes: []time.Duration{10 * time.Millisecond}, ticks: 1}},
}

func TestScenarios_reportFiguresAndTargets(t *testing.T) {
	for _, p := range slices.Concat(tiny, sqlPlans(true, 0), etcdPlans(true, 0), zkPlans(true, 0)) {
		t.Run(p.name, func(t *testing.T) {
			switch kind, _, _ := strings.Cut(p.name, "-"); kind { // skips or fails where there is none
			case "pg":
				testenv.Postgres(t)
			case "mysql":
				testenv.MariaDB(t)
			case "sqlite":
			case "zk":
				testenv.ZooKeeper(t)
			default:
				testenv.Redis(t)
			}
			b := &bench{progress: t.Output()}
			if err := runAll(t.Context(), b, []plan{p}); err != nil {
				t.Fatal(err)
			}
			for _, f := range b.report.figures {
				if f.Scenario != p.name || f.Contender == "" || f.Metric == "" || f.Min > f.Median || f.Median > f.Max {
					t.Errorf("figure %+v makes no sense", f)
				}
			}
			ours := slices.ContainsFunc(b.report.figures, func(f figure) bool { return strings.HasPrefix(f.Contender, "lockgen") && f.Median > 0 })
			if !ours || len(b.report.targets) == 0 {
				t.Errorf("figures %+v, targets %+v: something of ours is missing", b.report.figures, b.report.targets)
			}
		})
	}
}

func TestTiny_coversEveryScenario(t *testing.T) {
	var covered []string
	for _, p := range tiny {
		covered = append(covered, p.name)
	}
	for _, p := range slices.Concat(sqlPlans(true, 0), etcdPlans(true, 0), zkPlans(true, 0)) {
		covered = append(covered, p.name)
	}
	if want := append(covered, "all"); !slices.Equal(scenarioNames(), want) {
		t.Errorf("there are %v, tested are %v", scenarioNames(), want)
	}
}

func TestRun_jsonShape(t *testing.T) {
	testenv.Redis(t)
	var out, progress bytes.Buffer
	if code := run(t.Context(), []string{"-scenario", "seeds", "-quick", "-json", "-contenders", "rueidislock,lockgen"}, &out, &progress); code != 0 {
		t.Fatalf("exit code %d: %s", code, &progress)
	}
	var rows []map[string]any
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
		t.Fatalf("%v in %s", err, &out)
	}
	figures, targets := 0, 0
	for _, row := range rows {
		switch {
		case hasFields[string](row, "scenario", "contender", "metric") && hasFields[float64](row, "median", "min", "max") && len(row) == 6:
			figures++
		case hasFields[string](row, "scenario", "target") && hasFields[float64](row, "value") && hasFields[bool](row, "reached") && len(row) == 4:
			targets++
		default:
			t.Errorf("row %v is neither a figure nor a target", row)
		}
	}
	if figures == 0 || targets != 2 {
		t.Errorf("%d figures and %d targets in %s", figures, targets, &out)
	}
}

func hasFields[T any](row map[string]any, names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { _, ok := row[name].(T); return !ok })
}

func TestRun_wrongCommandLine(t *testing.T) {
	for _, args := range [][]string{
		{}, {"-scenario", "speed"}, {"-fast"}, {"seeds"}, {"-scenario", "seeds", "-contenders", "redis"}, {"-scenario", "seeds", "-rounds", "-1"},
	} {
		var out, complaint bytes.Buffer
		if code := run(t.Context(), args, &out, &complaint); code != 2 || out.Len() > 0 {
			t.Errorf("%v: exit code %d, output %q", args, code, &out)
		}
		if args := strings.Join(args, " "); (args == "" || args == "-scenario speed" || args == "-fast") && !strings.Contains(complaint.String(), "cluster-contended") {
			t.Errorf("%v: the complaint lists no scenarios: %s", args, &complaint)
		}
	}
}

func TestRun_failingScenarioExits1(t *testing.T) {
	t.Setenv("LOCKGEN_REDIS_SERVER", "no-such-program")
	var out, complaint bytes.Buffer
	if code := run(t.Context(), []string{"-scenario", "seeds", "-quick"}, &out, &complaint); code != 1 {
		t.Errorf("exit code %d without a server", code)
	}
	if !strings.Contains(complaint.String(), "no-such-program") {
		t.Errorf("the complaint does not name the cause: %s", &complaint)
	}
}
