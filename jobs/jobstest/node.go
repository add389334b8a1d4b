package jobstest

import (
	"context"
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
}

// Name returns the node's name.
func (n *Node) Name() string { return n.name }

// MustAdd adds a job, or ends the test.
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

// Shutdown begins to shut the node down and waits until [jobs.Scheduler.Run] has returned; it returns its error.
func (n *Node) Shutdown() error {
	if n.cancel == nil {
		return nil
	}
	n.cancel()
	<-n.ended
	return n.err
}

// Forgive lets [Node.Stop] pass over what Shutdown has returned.
func (n *Node) Forgive() { n.err = nil }

// Stop shuts the node down and closes its Locker. That it cannot is an error of the test, but not of a node that has
// crashed. A second Stop does nothing.
func (n *Node) Stop() {
	n.cluster.t.Helper()
	crashed := n.link.crashed.Load()
	if err := n.Shutdown(); err != nil && !crashed {
		n.cluster.t.Errorf("node %s: Run: %v", n.name, err)
	}
	n.err = nil
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := n.Locker().Close(ctx); err != nil && !crashed {
		n.cluster.t.Errorf("node %s: close its locker: %v", n.name, err)
	}
}

// Crash kills the node: nothing that it does or says from now on reaches the cluster. Its goroutines are told to end; to
// wait for that, call [Node.Stop].
func (n *Node) Crash() {
	n.link.crashed.Store(true)
	n.link.frozen.open()
	if n.cancel != nil {
		n.cancel()
	}
}

// Crashed reports whether the node was killed. What its goroutines still do then, a dead process would not have done.
func (n *Node) Crashed() bool { return n.link.crashed.Load() }

// CutJobs cuts the node off from the store of jobs, or connects it again.
func (n *Node) CutJobs(on bool) { n.link.jobsCut.Store(on) }

// CutLocks cuts the node off from the store of locks, or connects it again.
func (n *Node) CutLocks(on bool) { n.link.locksCut.Store(on) }

// SilenceLocks makes calls to the store of locks wait for an answer, as a server that is stopped does, or lets them go on.
func (n *Node) SilenceLocks(on bool) {
	if on {
		n.link.locksSilent.close()
	} else {
		n.link.locksSilent.open()
	}
}

// DropReplies lets the next count changes reach the store of jobs, but not their answers the node.
func (n *Node) DropReplies(count int) { n.link.dropReplies.Store(int32(count)) }

// Freeze makes the node hang, as SIGSTOP or a machine that is put to sleep does: calls that it makes do not reach the
// stores until [Node.Thaw]. Its timers go on, which those of a process that is stopped do not.
func (n *Node) Freeze() { n.link.frozen.close() }

// Thaw ends [Node.Freeze].
func (n *Node) Thaw() { n.link.frozen.open() }
