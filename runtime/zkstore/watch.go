package zkstore

import (
	"context"
	"maps"

	"github.com/go-zookeeper/zk"
)

// changes tell when there may be something new in a node.
type changes struct {
	events <-chan zk.Event // of the client's watch; closed after its only event
	up     chan struct{}   // the connection on which it was set
}

// fired reports whether there was something. Others who share it learn of it all the same.
func (c changes) fired() bool {
	select {
	case <-c.events:
		return true
	default:
		return false
	}
}

// watchNode reads a node, and watches it.
func (l *link) watchNode(ctx context.Context, path string) (node, changes, error) {
	return l.watchAnd(ctx, path, func(changes) {})
}

// watchAnd has set called with the watch, also if the caller has left meanwhile.
func (l *link) watchAnd(ctx context.Context, path string, set func(changes)) (node, changes, error) {
	type watched struct {
		node
		changes
	}
	w, _, err := repeat(ctx, l, func(c *zk.Conn) (w watched, err error) {
		w.up = l.connection()
		w.data, w.stat, w.events, err = c.GetW(path)
		if err == nil {
			set(w.changes)
		}
		return w, err
	})
	return w.node, w.changes, err
}

// watchShared watches a node for waiters. The client cannot take a watch back, and remembers each until the node
// changes: so those who give up before a lock that is held for long leave one together, and not one each.
func (l *link) watchShared(ctx context.Context, path string) (changes, error) {
	l.mu.Lock()
	c, there := l.watched[path]
	there = there && c.up == l.up && !c.fired()
	l.mu.Unlock()
	if there {
		return c, nil
	}
	_, c, err := l.watchAnd(ctx, path, func(c changes) { l.share(path, c) })
	return c, err
}

// share lets others find a watch.
func (l *link) share(path string, c changes) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watched[path] = c
	if len(l.watched) > l.roomFor {
		maps.DeleteFunc(l.watched, func(_ string, c changes) bool { return c.up != l.up || c.fired() })
		l.roomFor = 2*len(l.watched) + 16
	}
}

func (l *link) connection() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up
}
