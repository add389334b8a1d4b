package redisstore

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/timelimit"
)

const (
	// quickTime bounds a call in its caller's goroutine. The client heeds a context's deadline and not its cancellation,
	// and a caller has to return within 100 ms after the cancellation.
	quickTime  = 70 * time.Millisecond
	quickShare = 10 * time.Millisecond
	// quickPause is how long no call runs in its caller's goroutine after one that took longer.
	quickPause = 10 * time.Second
)

// quick is how calls are made while the server is quick: in the goroutine of the caller, because a hand-over to another
// and back costs as much as the call itself. A call that is not answered in time is made again in the other way, see
// calls, by the same lease id; and so are all that come for a while.
type quick struct {
	able   bool // the client heeds deadlines
	base   time.Time
	paused atomic.Int64 // no quick call before this much time after base
	limits timelimit.Shared
}

func newQuick(client redis.UniversalClient) *quick {
	q := &quick{base: time.Now()}
	q.limits.Length, q.limits.Share, q.limits.Cause = quickTime, quickShare, errSlow
	switch c := client.(type) {
	case *redis.Client:
		q.able = c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		q.able = c.Options().ContextTimeoutEnabled
	}
	return q
}

// use reports whether the server was quick recently.
func (q *quick) use() bool {
	return q != nil && q.able && time.Since(q.base) >= time.Duration(q.paused.Load())
}

func (q *quick) pause() { q.paused.Store(int64(time.Since(q.base) + quickPause)) }

// errSlow is why a call that was not answered within quickTime is to be made again.
var errSlow = errors.New("the store did not answer at once")

// slowError is a call that ended with quickTime.
type slowError struct{ error }

func (e slowError) Unwrap() error { return e.error }

// Is makes errors.Is(err, errSlow) true.
func (e slowError) Is(target error) bool { return target == errSlow }

// wasSent reports whether a call that ended with its deadline was sent. One that was not waited for a connection.
func wasSent(err error) bool {
	op := new(net.OpError)
	return errors.As(err, &op) && op.Op != "dial"
}

// isTimeout reports whether a call ended with the deadline that it was given.
func isTimeout(err error) bool {
	if err == nil {
		return false
	}
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}
