package jobs

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Config configures a [Scheduler]. The zero value is usable.
type Config struct {
	// Store keeps cursors, claims and records. Defaults to the one that matches the Locker: in the same Redis or
	// database, under the Locker's namespace, or in memory, shared by all schedulers on the same memory store of locks.
	// Its package must be imported, if only for its side effect; it imports that of the locks:
	//
	//	import _ "github.com/lockgen/lockgen/jobs/redisstore"
	Store Store
	// Node names this process in records. Like Program and Version it is printable text of up to 200 bytes. Defaults to
	// the Locker's node.
	Node string
	// Program names the program that the jobs belong to. Nodes of two programs in one namespace do not share a job of
	// the same name. Defaults to the path of the main module, or of the main package if there is no module.
	Program string
	// Version is shown beside the node and its jobs. Defaults to the version of the main module, or to the revision
	// that it was built from if it has no version.
	Version string
	// Location is the zone of specs without TZ. Defaults to UTC. All nodes must use the same.
	Location *time.Location
	// Logger receives transitions: runs that begin, end, or are skipped, store lost and found, nodes found dead.
	// Defaults to slog.Default().
	Logger *slog.Logger
	// DrainTimeout is how long runs may go on after the context of Run has ended, before theirs is cancelled. Then they
	// have 5 s to return, and their records 5 s to reach the store; lockrt.Locker.Close, which follows, takes up to 5 s
	// more if the store is away. Defaults to 13 s: 28 s in all, so that all is over before Kubernetes kills a process
	// that has been told to end 30 s ago. Negative means not at all. See Scheduler.Drain for longer ones.
	DrainTimeout time.Duration
	// Heartbeat is the interval between the node's heartbeats. By its heartbeat a node also receives requests of other
	// nodes: to cancel a run, to run a job now, to run a one-off job. When five heartbeats have been missed, other
	// nodes take over its runs. A heartbeat costs one call per node. A step of the machine's clock is noticed within
	// one interval. All nodes must use the same value. Defaults to 1 s, which is also the minimum. The maximum is 5
	// min, for simulations of long times.
	Heartbeat time.Duration
	// History is how many records are kept per job. Defaults to 100.
	History int
	// TracerProvider receives a span for each run. Defaults to the Locker's, which may be none.
	TracerProvider trace.TracerProvider
	// MeterProvider receives the metrics lockgen.job.lateness, .duration, .runs, .claims, .missed and .running.
	// Defaults to the Locker's, which may be none.
	MeterProvider metric.MeterProvider
	// Now is what the node's clock shows. It need not be right, and may be set at any time: the store's time decides, and
	// between two answers of the store Go's monotonic clock measures, as timers do. Now only stands in for the store's
	// time before the first answer, and Node.ClockOffset tells how far it is off. So tests with other clocks want
	// testing/synctest; see package jobstest. New calls it once, and refuses one that panics or has not returned within a
	// second; while it does so later, time.Now stands in for it. Defaults to time.Now.
	Now func() time.Time
	// OnRun is called after the record of a run is complete, whether the run ran or was skipped. The node that recorded
	// the run calls it: for the run of a dead node, the node that found it. Calls come from the goroutines of the runs,
	// several at a time, and delay the end of a drain.
	OnRun func(Run)
}

const (
	minHeartbeat = time.Second
	maxHeartbeat = NodeRetention / 2 // a node that lives stays in the list of nodes
)

// checkNames refuses names that would not be what they seem to be in records and logs.
func (c *Config) checkNames() error {
	var errs []error
	for _, name := range []struct{ field, value string }{
		{"Node", c.Node}, {"Program", c.Program}, {"Version", c.Version},
	} {
		switch {
		case len(name.value) > maxName:
			errs = append(errs, fmt.Errorf("jobs.New: Config.%s has %d bytes: use %d at most", name.field,
				len(name.value), maxName))
		case !isText(name.value):
			errs = append(errs, fmt.Errorf("jobs.New: Config.%s %q holds a control character or a format character, or "+
				"is not UTF-8: use printable text", name.field, name.value))
		}
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults(locks *lockrt.Locker) (Config, error) {
	if c.Store == nil {
		store, err := storeBeside(locks)
		if err != nil {
			return c, fmt.Errorf("jobs.New: %w", err)
		}
		c.Store = store
	}
	if c.History < 0 {
		return c, fmt.Errorf("jobs.New: Config.History is %d: set how many records to keep per job, 0 for 100",
			c.History)
	}
	if c.History > maxHistory {
		return c, fmt.Errorf("jobs.New: Config.History is %d: keep %d records per job at most", c.History, maxHistory)
	}
	if err := c.checkNames(); err != nil {
		return c, err
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = minHeartbeat
	}
	if c.Heartbeat < minHeartbeat || c.Heartbeat > maxHeartbeat {
		return c, fmt.Errorf("jobs.New: Config.Heartbeat is %s: set %s to %s, 0 for %[2]s", c.Heartbeat, minHeartbeat,
			maxHeartbeat)
	}
	tracer, meter := locks.Telemetry()
	if c.TracerProvider == nil {
		c.TracerProvider = tracer
	}
	if c.MeterProvider == nil {
		c.MeterProvider = meter
	}
	if c.History == 0 {
		c.History = 100
	}
	if c.Node == "" {
		c.Node = plain(locks.Node(), maxName)
	}
	if program, version := builtFrom(); c.Program == "" || c.Version == "" {
		c.Program, c.Version = firstOf(c.Program, plain(program, maxName)), firstOf(c.Version, plain(version, maxName))
	}
	if c.Location == nil {
		c.Location = time.UTC
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Logger = guardLogger(c.Logger)
	now, err := guardNow(c.Now, c.Logger)
	if err != nil {
		return c, err
	}
	c.Now = now
	switch {
	case c.DrainTimeout == 0:
		c.DrainTimeout = 13 * time.Second
	case c.DrainTimeout < 0:
		c.DrainTimeout = 0
	}
	if c.OnRun == nil {
		c.OnRun = func(Run) {}
	}
	return c, nil
}
