package runtime

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// Config configures a [Locker]. The zero value is usable.
type Config struct {
	// Namespace separates the locks of different applications in one store. Keys of different namespaces never
	// exclude each other. Defaults to "lock".
	Namespace string
	// Node names this process towards people, in BusyError and in lists. It need not be unique. Defaults to
	// host:pid:random.
	Node string
	// Logger receives transitions: leases lost, renewals failing, releases that failed. Keys are logged, values and
	// store addresses are not. Defaults to slog.Default().
	Logger *slog.Logger
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
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}
