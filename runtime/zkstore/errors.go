package zkstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/timelimit"
	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	// callTime bounds every call to the servers whose caller has no nearer end.
	callTime = 5 * time.Second
	// callShare is by how much the limits of calls may differ that share one. A wait little shorter than callTime is bounded
	// by such a limit alone.
	callShare = 20 * time.Millisecond
	// answerTime is how long a connected server may be silent before it is left for another.
	answerTime = 1500 * time.Millisecond
)

var (
	errNoAnswer = timelimit.ErrNoAnswer
	errExpired  = fmt.Errorf("ZooKeeper has forgotten its process: %w", zk.ErrSessionExpired)
	errGone     = errors.New("its node was deleted in ZooKeeper")
	errMoved    = errors.New("the lock changed again and again in ZooKeeper")
	errNoPlace  = errors.New("its place in the queue was deleted in ZooKeeper")
)

// quotaExceeded is what the client makes of an error that it does not know.
const quotaExceeded = "unknown error: -125"

// isUnheard reports whether a request had no answer that says anything. It may have done its work.
func isUnheard(err error) bool {
	var network net.Error
	switch {
	case err == nil || errors.Is(err, errExpired):
		return false
	case isContext(err), errors.Is(err, zk.ErrConnectionClosed), errors.Is(err, zk.ErrNoServer),
		errors.Is(err, zk.ErrClosing), errors.Is(err, zk.ErrSessionMoved), errors.Is(err, zk.ErrSessionExpired),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, errNoServer), errors.As(err, &network):
		return true
	}
	return false
}

// isRetryable reports whether another try may succeed in a moment.
func isRetryable(err error) bool {
	return isUnheard(err) || errors.Is(err, errExpired) || errors.Is(err, errNoAnswer) || errors.Is(err, errMoved)
}

func isContext(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// helpError is an error with what to do about it.
type helpError struct {
	error
	todo string
}

func (e helpError) Error() string { return e.error.Error() + "; " + e.todo }

func (e helpError) Unwrap() error { return e.error }

// help adds what to do where that is known, once.
func help(err error) error {
	switch {
	case errors.As(err, new(helpError)):
	case errors.Is(err, zk.ErrNoAuth) || errors.Is(err, zk.ErrInvalidACL):
		return helpError{err, "the session's user needs all rights on the node of the prefix, and on what is below it, " +
			"and credentials with a mistake make another user"}
	case strings.Contains(err.Error(), quotaExceeded):
		return helpError{err, "a quota of the servers is used up: see setquota -N and -B on the node of the prefix, and on " +
			"those above it"}
	case errors.Is(err, zk.ErrAuthFailed):
		return helpError{err, "see zkstore.Config.User and Password"}
	}
	return err
}

// explain is the error of a call that began at some time, as the caller gets it. Only where ctx, the caller's own, has
// ended it says so.
func explain(ctx context.Context, began time.Time, err error) error {
	if err == nil || errors.Is(err, lockrt.ErrLost) {
		return err
	}
	return timelimit.Explain(ctx, began, help(err))
}
