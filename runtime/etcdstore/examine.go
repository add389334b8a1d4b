package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"
)

const (
	// statusTime is how long one server may take to say what it is.
	statusTime = 2 * time.Second
	// uncompacted is how many revisions a cluster keeps whose history nobody compacts.
	uncompacted = 1_000_000
	// fullRatio is the part of the quota from which on the log says that the database is nearly full.
	fullRatio = 0.8
)

// findings are what the servers said of themselves.
type findings struct{ warnings []string }

func (f *findings) warn(format string, a ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(format, a...))
}

func (f *findings) log(l *slog.Logger) {
	for _, text := range f.warnings {
		l.Warn("etcd needs attention: " + text)
	}
}

// examine asks all servers that the client knows what they are, and in which term. It refuses those that lose leases. Servers
// that do not answer are no reason to fail, as long as one does.
func examine(ctx context.Context, client *etcd.Client, terms *terms) (*findings, error) {
	endpoints := client.Endpoints()
	if len(endpoints) == 0 {
		return nil, refusal("the client has no endpoints")
	}
	said := make([]*etcd.StatusResponse, len(endpoints))
	errs := make([]error, len(endpoints))
	var asked sync.WaitGroup
	for i, endpoint := range endpoints {
		asked.Go(func() {
			limited, cancel := context.WithTimeout(ctx, statusTime)
			defer cancel()
			said[i], _, errs[i] = repeat(limited, func(ctx context.Context) (*etcd.StatusResponse, error) {
				return client.Status(ctx, endpoint)
			})
		})
	}
	asked.Wait()
	f := new(findings)
	answered := false
	for i, status := range said {
		switch {
		case errs[i] == nil:
			answered = true
			terms.saw(status.Header)
			if err := checkVersion(status.Version); err != nil {
				return nil, fmt.Errorf("the server %s: %w", endpoints[i], err)
			}
			f.size(endpoints[i], status)
		case errors.Is(errs[i], rpctypes.ErrPermissionDenied):
			answered = true
			f.warn("%s tells its version to no account without the right to: see that it is %s", endpoints[i], needed)
		}
	}
	if !answered {
		return nil, errors.Join(errs...)
	}
	f.history(ctx, client)
	return f, nil
}

// size warns of a database that is nearly full.
func (f *findings) size(endpoint string, status *etcd.StatusResponse) {
	for _, text := range status.Errors {
		f.warn("%s reports: %s", endpoint, text)
	}
	if quota := status.DbSizeQuota; quota > 0 && float64(status.DbSizeInUse) > fullRatio*float64(quota) {
		f.warn("the database of %s uses %d of %d bytes; a full one takes no writes, and so no locks", endpoint,
			status.DbSizeInUse, quota)
	}
}

// history warns of a history that seems not to be compacted: every lock adds two revisions to it.
func (f *findings) history(ctx context.Context, client *etcd.Client) {
	limited, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	head, err := client.Get(limited, "\x00", etcd.WithCountOnly())
	if err != nil || head.Header.Revision <= uncompacted {
		return
	}
	_, err = client.Get(limited, "\x00", etcd.WithCountOnly(), etcd.WithRev(head.Header.Revision-uncompacted))
	if err == nil {
		f.warn("more than %d revisions are not compacted; every lock adds two: set --auto-compaction-mode and "+
			"--auto-compaction-retention", uncompacted)
	}
}

const needed = "3.4.31, 3.5.13 or newer"

// checkVersion refuses servers whose old leader, if it is stuck, revokes leases that are being renewed.
func checkVersion(version string) error {
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		return refusal("its version %q is not one of etcd; needed is %s", version, needed)
	}
	least := map[int]int{4: 31, 5: 13}
	if major > 3 || major == 3 && (minor > 5 || minor >= 4 && patch >= least[minor]) {
		return nil
	}
	return refusal("etcd %s revokes leases that are being renewed, when an old leader is stuck "+
		"(https://github.com/etcd-io/etcd/issues/15247), and two would hold one lock; needed is %s", version, needed)
}
