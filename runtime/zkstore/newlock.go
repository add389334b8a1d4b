package zkstore

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// newLock is the node of a lock that a request makes. The servers delete it when it has had children and has none any
// more. They keep one that never had any: it is deleted by who made it and did not join.
type newLock struct {
	s    *session
	path string
	made bool        // or may be
	left atomic.Bool // the request is over
}

func (n *newLock) make(ctx context.Context, l *link) error {
	err := l.makeIn(ctx, n.path, n.creation(l))
	n.made = n.made || err == nil || isRetryable(err)
	return err
}

// creation is the call that makes the node. The request may have left it, on a goroutine that runs when the deletion is
// done.
func (n *newLock) creation(l *link) creation {
	return func(c *zk.Conn) (string, error) {
		defer func() {
			if n.left.Load() {
				n.drop()
			}
		}()
		return c.CreateContainer(n.path, nil, zk.FlagContainer, l.acl())
	}
}

// leave ends a request that has not joined.
func (n *newLock) leave() {
	n.left.Store(true)
	if n.made {
		n.drop()
	}
}

// drop has the node deleted in the background, unless somebody has joined. Close waits a while for it. Where the servers
// refuse that the node stays: it is in nobody's way.
func (n *newLock) drop() {
	n.s.addDrops(1)
	n.s.leaveBy(0, func(ctx context.Context) error {
		l, err := n.s.link(ctx) // the end of that which made it does not end the node
		if err == nil {
			_, err = once(ctx, l, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(n.path, -1) })
		}
		if isRetryable(err) || errors.Is(err, lockrt.ErrClosed) {
			return err
		}
		n.s.addDrops(-1)
		return nil
	})
}

func (s *session) addDrops(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drops += n
}
