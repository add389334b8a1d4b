package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lockgen/lockgen/internal/timelimit"
	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	// callTime bounds every call to the servers whose caller has no nearer end.
	callTime = 5 * time.Second
	// callShare is by how much the limits of calls may differ that share one. A wait little shorter than callTime is bounded
	// by such a limit alone.
	callShare = 20 * time.Millisecond
	// attemptTime is how long one server may take, before another is asked.
	attemptTime = 1500 * time.Millisecond
)

var (
	errNoAnswer    = timelimit.ErrNoAnswer
	errForgotten   = errors.New("etcd has forgotten it: its lease ran out")
	errPresumed    = fmt.Errorf("a member of etcd has denied its lease, and then %w", errNoAnswer)
	errGone        = errors.New("its key was deleted in etcd")
	errOtherLeader = errors.New("etcd has changed its leader meanwhile")
	errOver        = fmt.Errorf("it is not known whether it was kept: %w before that was over", errNoAnswer)
	errMoved       = errors.New("the session's place in etcd changed again and again")
)

// refusalError says that these servers, or the way in which they are set up, cannot keep locks.
type refusalError struct{ error }

func (e refusalError) Is(target error) bool { return target == lockrt.ErrOptions }
func (e refusalError) Unwrap() error        { return e.error }

func refusal(format string, a ...any) error { return refusalError{fmt.Errorf(format, a...)} }

func codeOf(err error) codes.Code {
	var coded rpctypes.EtcdError
	if errors.As(err, &coded) {
		return coded.Code()
	}
	if isContext(err) {
		return codes.DeadlineExceeded
	}
	return status.Code(err)
}

// isDenied reports whether the servers refuse the account.
func isDenied(err error) bool {
	switch codeOf(err) {
	case codes.PermissionDenied, codes.Unauthenticated:
		return !isOldToken(err)
	}
	return errors.Is(err, rpctypes.ErrAuthFailed) || errors.Is(err, rpctypes.ErrUserEmpty) ||
		errors.Is(err, rpctypes.ErrAuthNotEnabled)
}

// isOldToken reports whether a server did not know the token of the account. For each sign of life the client gets a new
// one, of which a member that is behind the others has not heard yet.
func isOldToken(err error) bool { return errors.Is(err, rpctypes.ErrInvalidAuthToken) }

func isFull(err error) bool { return errors.Is(err, rpctypes.ErrNoSpace) }

// isCrowded reports whether servers refuse a write because of how many others are queued.
func isCrowded(err error) bool { return errors.Is(err, rpctypes.ErrTooManyRequests) }

func isNoLease(err error) bool { return errors.Is(err, rpctypes.ErrLeaseNotFound) }

// retryable reports whether another try may succeed in a moment.
func retryable(err error) bool {
	var refused refusalError
	switch {
	case errors.As(err, &refused) || isDenied(err) || isFull(err):
		return false
	case isContext(err) || isOldToken(err):
		return true
	}
	switch codeOf(err) {
	case codes.Unavailable, codes.Unknown, codes.Internal, codes.DeadlineExceeded, codes.Canceled, codes.Aborted,
		codes.ResourceExhausted:
		return true
	}
	return false
}

// mayHaveRun reports whether a request that failed may have done its work, now or later. One that met a full database
// may have: etcd applies the request with which it notices that.
func mayHaveRun(err error) bool {
	if err == nil || isFull(err) {
		return true
	}
	var refused refusalError
	return !errors.As(err, &refused) && !isNoLease(err) && !isUnsent(err) && !isCrowded(err) && !isOldToken(err) &&
		retryable(err)
}

// help adds what to do where that is known.
func help(err error) error {
	switch {
	case err == nil:
		return nil
	case isFull(err):
		return fmt.Errorf("%w; the database of etcd has reached its quota and takes no writes. Locks that are held stay "+
			"held, and can be released. Compact and defragment it, then run: etcdctl alarm disarm", err)
	case isDenied(err):
		return fmt.Errorf("%w; the account of etcd needs the right to read and write the keys below etcdstore.Config.Prefix",
			err)
	case errors.Is(err, rpctypes.ErrTooManyOps):
		return fmt.Errorf("%w; a lock needs transactions of %d operations: let the servers take as many by --max-txn-ops, "+
			"whose default is %d", err, leastParts, mostParts)
	case errors.Is(err, etcd.ErrNoAvailableEndpoints):
		return fmt.Errorf("%w; name at least one server", err)
	}
	return err
}

func isContext(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// isLost reports whether a lease or a class is lost, or presumed to be.
func isLost(err error) bool { return errors.Is(err, lockrt.ErrLost) || errors.Is(err, errPresumed) }

// explain is the error of a call that began at some time, as the caller gets it. Only where ctx, the caller's own, has
// ended it says so. What another try might have mended says for how long it was tried.
func explain(ctx context.Context, began time.Time, err error) error {
	if err == nil || isLost(err) {
		return err
	}
	err = help(err)
	if took := time.Since(began); took >= retryMost && isUnavailable(err) {
		err = triedError{err, took}
	}
	return timelimit.Explain(ctx, began, err)
}

// isUnavailable reports whether servers, or the way to them, say that they cannot answer.
func isUnavailable(err error) bool {
	_, known := errors.AsType[triedError](err)
	return !known && !isContext(err) && codeOf(err) == codes.Unavailable
}

// triedError says for how long something was tried.
type triedError struct {
	error
	took time.Duration
}

func (e triedError) Error() string {
	return fmt.Sprintf("%s (tried for %s)", e.error.Error(), timelimit.Roughly(e.took))
}

func (e triedError) Unwrap() error { return e.error }
