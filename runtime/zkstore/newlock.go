package zkstore

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// newLock is the node of a lock that a request makes. The servers delete it when it has had children and has none any
// more. They keep one that never had any: it is deleted by who made it and did not join.
type newLock struct {
	s    *session
	path string

	// guarded by the session's mu:
	calls   int  // that make it, under way
	made    bool // or may be
	left    bool // the request is over
	refused bool // its deletion: nobody waits for that
}

func (n *newLock) make(ctx context.Context, l *link) error {
	return l.makeIn(ctx, n.path, n.creation(l))
}

// creation is the call that makes the node. The request may leave it, on a goroutine that goes on, or has yet to begin.
func (n *newLock) creation(l *link) creation {
	return func(c *zk.Conn) (string, error) {
		if !n.begin() {
			return "", errMoved // nobody hears it
		}
		path, err := c.CreateContainer(n.path, nil, zk.FlagContainer, l.acl())
		n.end(err)
		return path, err
	}
}

// begin reports whether the request goes on.
func (n *newLock) begin() bool {
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	if n.left {
		return false
	}
	n.calls++
	return true
}

func (n *newLock) end(err error) {
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	n.calls--
	n.made = n.made || err == nil || isUnheard(err)
	switch {
	case !n.left || n.calls > 0:
	case n.made:
		n.dropLocked()
	default:
		n.droppedLocked()
	}
}

// leave ends a request that has not joined. Where there may be a node it is deleted in the background, once nobody can make
// it any more. Close waits a while for that.
func (n *newLock) leave() {
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	n.left = true
	if !n.made && n.calls == 0 {
		return
	}
	n.s.drops++
	n.s.countLocked()
	if n.calls == 0 {
		n.dropLocked()
	}
}

// dropLocked deletes the node unless somebody has joined. Where the user may not it stays, in nobody's way.
func (n *newLock) dropLocked() {
	n.s.addLocked(&chore{do: func(ctx context.Context) error {
		l, err := n.s.link(ctx) // the end of that which made it does not end the node
		if errors.Is(err, lockrt.ErrClosed) {
			return err
		}
		if err != nil {
			return errors.Join(err, errMoved) // soon again: whatever is in the way of a link is not the deletion's
		}
		_, err = once(ctx, l, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(n.path, -1) })
		over := err == nil || errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNotEmpty) || errors.Is(err, zk.ErrNoAuth)
		n.s.mu.Lock()
		defer n.s.mu.Unlock()
		switch {
		case over:
			n.droppedLocked()
			return nil
		case !n.refused && !isRetryable(err):
			n.refused = true
			n.s.refused++
			n.s.countLocked()
		}
		return err
	}}, time.Now())
}

// droppedLocked counts a node that is not to be deleted any more. A session that closes waits for the next one.
func (n *newLock) droppedLocked() {
	s := n.s
	s.drops--
	if n.refused {
		s.refused--
	}
	s.countLocked()
	if !s.linger.IsZero() {
		s.linger = time.Now().Add(lingerTime)
	}
	pace.Wake(s.wakeClean)
}
