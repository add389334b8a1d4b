package zkstore

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/timelimit"
)

const (
	retryFirst = 5 * time.Millisecond
	retryMost  = 500 * time.Millisecond
)

// result is what a call of the client brought.
type result[T any] struct {
	value T
	err   error
}

// start makes a call of the client, which knows no contexts, on a goroutine that its caller may leave.
func start[T any](l *link, call func(*zk.Conn) (T, error)) <-chan result[T] {
	done := make(chan result[T], 1)
	l.s.calls.Start(func() {
		value, err := call(l.conn)
		done <- result[T]{value, err}
	})
	return done
}

// once makes one call.
func once[T any](ctx context.Context, l *link, call func(*zk.Conn) (T, error)) (got T, err error) {
	if err := l.await(ctx); err != nil {
		return got, err
	}
	done := start(l, call)
	select {
	case r := <-done:
		if l.isOver() && isUnheard(r.err) {
			return r.value, errExpired
		}
		return r.value, r.err
	case <-ctx.Done():
		return got, context.Cause(ctx)
	case <-l.gone:
		return got, errExpired
	}
}

// repeat makes a call until it has an answer, ctx ends, or the session is over. The call must be one that may be
// repeated. unheard says that an earlier attempt had no answer, and may have done its work.
func repeat[T any](ctx context.Context, l *link, call func(*zk.Conn) (T, error)) (got T, unheard bool, err error) {
	for backoff := retryFirst; ; backoff = pace.Backoff(backoff, retryFirst, retryMost) {
		sent := time.Now()
		if got, err = once(ctx, l, call); !isUnheard(err) {
			if err == nil {
				l.touched(sent)
			}
			return got, unheard, err
		}
		unheard = true
		if ctx.Err() != nil || !pace.Sleep(ctx, pace.Jitter(backoff)) {
			return got, unheard, err
		}
	}
}

// node is what a read of a node brings.
type node struct {
	data []byte
	stat *zk.Stat
}

func (l *link) get(ctx context.Context, path string) (node, error) {
	n, _, err := repeat(ctx, l, func(c *zk.Conn) (n node, err error) {
		n.data, n.stat, err = c.Get(path)
		return n, err
	})
	return n, err
}

// stat returns nil if the node is not there.
func (l *link) stat(ctx context.Context, path string) (*zk.Stat, error) {
	s, _, err := repeat(ctx, l, func(c *zk.Conn) (*zk.Stat, error) {
		there, s, err := c.Exists(path)
		if !there {
			s = nil
		}
		return s, err
	})
	return s, err
}

// children returns the names of a node's children, none if it is not there.
func (l *link) children(ctx context.Context, path string) ([]string, error) {
	names, _, err := repeat(ctx, l, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(path)
		if err == zk.ErrNoNode {
			return nil, nil
		}
		return names, err
	})
	return names, err
}

// sync lets this server see all that the leader has agreed to so far.
func (l *link) sync(ctx context.Context) error {
	_, _, err := repeat(ctx, l, func(c *zk.Conn) (string, error) { return c.Sync(l.s.space.root) })
	return err
}

// multi makes several changes in one step, or none. The error is that of the first that cannot be made.
func (l *link) multi(ctx context.Context, ops ...any) (said []zk.MultiResponse, unheard bool, err error) {
	var sent time.Time
	said, unheard, err = repeat(ctx, l, func(c *zk.Conn) ([]zk.MultiResponse, error) {
		sent = time.Now()
		return c.Multi(ops...)
	})
	if err == nil {
		l.wrote(sent)
	}
	return said, unheard, err
}

// The limit of calls. Arming a timer for each call costs about as much as the rest of it.
var callLimit = timelimit.Shared{Length: callTime, Share: callShare, Cause: errNoAnswer}

// bounded returns a context that ends with ctx, or after callTime.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := callLimit.Next()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(limit, func() { cancel(context.Cause(limit)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}
