package etcdtest

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testetcd"
	"github.com/lockgen/lockgen/internal/testlocks"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// member is a server that a chaos may stop, and part from the others.
type member struct{ *testetcd.Member }

func (m member) Pause() error  { return m.Signal(syscall.SIGSTOP) }
func (m member) Resume() error { return m.Signal(syscall.SIGCONT) }

// openChaos returns a Locker of a node of a chaos.
func openChaos(addrs []string, cfg lockrt.Config) (*lockrt.Locker, error) {
	return lockrt.Open(context.Background(), "etcd://"+strings.Join(addrs, ","), cfg)
}

var _ testlocks.Peer = member{}

func chaos(t *testing.T, processes bool) {
	t.Helper()
	c := start(t, 3, testetcd.Options{Lines: true, Fsync: true})
	all := testlocks.Chaos{
		Leader: func(ctx context.Context) (testlocks.Server, error) {
			m, err := c.Leader(ctx)
			return member{m}, err
		},
		Open: openChaos, Modes: true, Processes: processes, Faults: 100, Patience: 2 * time.Minute,
	}
	for _, m := range c.Members {
		all.Servers = append(all.Servers, member{m})
	}
	all.Run(t)
	c.mustBeEmpty(t)
}

// Nodes share locks of a cluster of three that waits for its disks, while all goes wrong: members are parted from each
// other, too, and their disks become slow. Nothing is left behind.
func TestChaos(t *testing.T) {
	t.Parallel() // it waits more than it works
	chaos(t, false)
}

// The same with nodes that are processes of their own, which are killed and stopped.
func TestChaos_processes(t *testing.T) {
	t.Parallel() // it waits more than it works
	chaos(t, true)
}
