package jobstest

import (
	"context"
	"errors"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// Node is one process of a [Cluster].
type Node struct {
	*jobs.Scheduler

	cluster *Cluster
	name    string
	link    link
	cancel  context.CancelFunc // nil before Start
	ended   chan struct{}
	err     error // of Run; valid after ended
	stopped bool
}

// Name returns the node's name.
func (n *Node) Name() string { return n.name }

// MustAdd adds a job. It ends the test if that fails.
func (n *Node) MustAdd(j jobs.Job) {
	n.cluster.t.Helper()
	if err := n.Add(j); err != nil {
		n.cluster.t.Fatal(err)
	}
}

// Start runs the node. A scheduler runs once: a second Start, or one after [Node.Crash], ends the test. A process that
// is started again is a new [Cluster.Node].
func (n *Node) Start() {
	n.cluster.t.Helper()
	if n.cancel != nil || n.Crashed() {
		n.cluster.t.Fatalf("node %s: Start of a node that was started before or has crashed: a process that is "+
			"started again is a new node, from Cluster.Node", n.name)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	go func() {
		defer close(n.ended)
		n.err = n.Run(ctx)
	}()
}

// Shutdown shuts the node down, waits until [jobs.Scheduler.Run] has returned, and returns its error.
func (n *Node) Shutdown() error {
	if n.cancel == nil {
		return nil
	}
	n.cancel()
	<-n.ended
	return n.err
}

// Forgive makes [Node.Stop] ignore the error of Shutdown.
func (n *Node) Forgive() { n.err = nil }

// Stop shuts the node down and closes its Locker. If that fails, the test fails, unless the node has crashed, is frozen, or
// does not reach the store of locks, where it cannot release what it has. A second Stop does nothing.
func (n *Node) Stop() {
	n.cluster.t.Helper()
	if n.stopped {
		return
	}
	n.stopped = true
	crashed := n.link.crashed.Load()
	silent := n.link.frozen.isShut() || n.link.locksSilent.isShut()
	if err := n.Shutdown(); err != nil && !crashed {
		n.cluster.t.Errorf("node %s: Run: %v", n.name, err)
	}
	n.err = nil
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := n.Locker().Close(ctx); err != nil && !crashed && !silent && !errors.Is(err, ErrCut) {
		n.cluster.t.Errorf("node %s: close its locker: %v", n.name, err)
	}
}

// Crash kills the node: none of its calls reaches the cluster from now on. Its goroutines are told to end; to wait for
// that, call [Node.Stop].
func (n *Node) Crash() {
	n.link.crashed.Store(true)
	n.link.frozen.open()
	if n.cancel != nil {
		n.cancel()
	}
}

// Crashed reports whether the node was killed. Its goroutines may still run for a moment, unlike those of a dead
// process.
func (n *Node) Crashed() bool { return n.link.crashed.Load() }

// CutJobs cuts the node off from the store of jobs, or connects it again.
func (n *Node) CutJobs(on bool) { n.link.jobsCut.Store(on) }

// CutLocks cuts the node off from the store of locks, or connects it again.
func (n *Node) CutLocks(on bool) { n.link.locksCut.Store(on) }

// SilenceLocks makes calls to the store of locks hang, like those to a server that is stopped, or lets them go on.
func (n *Node) SilenceLocks(on bool) {
	if on {
		n.link.locksSilent.close()
	} else {
		n.link.locksSilent.open()
	}
}

// DropReplies drops the answers to the next count changes in the store of jobs. The changes themselves reach the store.
func (n *Node) DropReplies(count int) { n.link.dropReplies.Store(int32(count)) }

// Freeze makes the node hang, like SIGSTOP or a suspended machine: its calls do not reach the stores until [Node.Thaw].
// Its timers go on, unlike those of a stopped process.
func (n *Node) Freeze() { n.link.frozen.close() }

// Thaw ends [Node.Freeze].
func (n *Node) Thaw() { n.link.frozen.open() }
