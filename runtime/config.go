package lockrt

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Config configures a [Locker]. The zero value is usable.
type Config struct {
	// Namespace separates the locks of different applications in one store. Keys of different namespaces never
	// exclude each other. Defaults to "lock".
	Namespace string
	// Node is the name of this process for people, in BusyError and in lists. It need not be unique. Defaults to
	// host:pid:random.
	Node string
	// Logger receives transitions, one after another on a goroutine that Close waits for: leases lost, renewals failing,
	// releases that failed. Keys are logged, values and store addresses are not. A handler that panics ends the process, as
	// any panic on a goroutine of its own does. Defaults to slog.Default().
	Logger *slog.Logger

	// TracerProvider receives a span for each Acquire. Defaults to none.
	TracerProvider trace.TracerProvider
	// MeterProvider receives the metrics lockgen.lock.wait, .hold, .acquisitions, .lost, .renew.errors, .held and
	// .waiting. Its instruments have to return at once and not to panic: some are called on goroutines of the Locker's own.
	// Defaults to none.
	MeterProvider metric.MeterProvider

	// LocalHandoffs is the maximum number of local hand-offs of a lease: it passes to the next waiting caller of this
	// Locker without a round trip. After that the lock goes back through the store's queue to the waiters of other
	// processes. At most 1023. Defaults to 64. Negative means none: strict order of arrival over all processes.
	LocalHandoffs int
	// LocalHandoffTime is how long after its grant a lease may still be handed off locally. Defaults to 10 ms.
	LocalHandoffTime time.Duration
}

func (c Config) withDefaults() (Config, error) {
	if c.Namespace == "" {
		c.Namespace = "lock"
	}
	if strings.ContainsAny(c.Namespace, "\x00\r\n") {
		return c, fmt.Errorf("%w: Config.Namespace %q holds a control character", ErrOptions, c.Namespace)
	}
	if strings.ContainsAny(c.Node, "\x00\r\n") {
		return c, fmt.Errorf("%w: Config.Node %q holds a control character", ErrOptions, c.Node)
	}
	if c.Node == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		c.Node = fmt.Sprintf("%s:%d:%s", host, os.Getpid(), strings.ToLower(rand.Text()[:6]))
	}
	if c.LocalHandoffs == 0 {
		c.LocalHandoffs = 64
	}
	if c.LocalHandoffTime == 0 {
		c.LocalHandoffTime = 10 * time.Millisecond
	}
	if c.LocalHandoffs >= 1<<passBits || c.LocalHandoffTime < 0 {
		return c, fmt.Errorf("%w: Config.LocalHandoffs is %d and LocalHandoffTime %s; at most %d and at least 0 make sense",
			ErrOptions, c.LocalHandoffs, c.LocalHandoffTime, 1<<passBits-1)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}
