package lockrt

import (
	"errors"
	"fmt"
	"time"
)

// The errors of this package. Test for them with errors.Is: a returned error wraps them together with the key and the
// reason. If a context ended, it also wraps the context's error.
var (
	// ErrBusy says that, by the store's answer, somebody else holds the lock, and that the wait, if any, is over. See
	// [BusyError]. A store that does not answer is never ErrBusy.
	ErrBusy = errors.New("lock is busy")
	// ErrLost says that a lease ended before it was released: it ran past its deadline without a renewal, reached
	// its MaxHold, was broken by an operator, or was forgotten by the store. It is the cause of the lease's context.
	ErrLost = errors.New("lease is lost")
	// ErrNotHeld says that a lock is not held by the context or the lease that asks.
	ErrNotHeld = errors.New("lock is not held")
	// ErrNested says that a call chain asked for a key that it already holds. It would wait for itself.
	ErrNested = errors.New("lock is already held by this call chain")
	// ErrUpgrade says that a call chain that holds a key together with others, for reading or by a permit, asked to
	// hold it alone. Two that do so would never stop waiting for each other. Release the lease, acquire the other, and
	// look again at what was read. It wraps ErrNested.
	ErrUpgrade = fmt.Errorf("%w together with others: to hold it alone it would wait for itself", ErrNested)
	// ErrClosed says that the Locker was closed.
	ErrClosed = errors.New("locker is closed")
	// ErrKey says that a key is unusable: empty, too long, or built from a nil or empty value.
	ErrKey = errors.New("unusable lock key")
	// ErrOptions says that options contradict each other or are out of range.
	ErrOptions = errors.New("unusable options")
)

// BusyError is the ErrBusy that names the holder.
type BusyError struct {
	// Key is the key that was asked for.
	Key string
	// Holder is the node that holds the lock, one of them if several do. It is empty if the holder is not known, and if
	// only MinHold keeps the lock.
	Holder string
	// Holders is how many readers or permits hold the lock. It is 0 if one lease holds it alone, and if the number is
	// not known.
	Holders int
	// Remaining is the rest of the holder's lease at the store's answer, 0 if it is not known. If several permits are
	// held, it is that of the lease that ends first. If several readers hold the lock, it is that of the lease that
	// ends last. The holder may renew it.
	Remaining time.Duration
}

// Error implements error.
func (e *BusyError) Error() string {
	remaining := e.Remaining.Round(time.Millisecond)
	switch {
	case e.Remaining <= 0 && e.Holder != "":
		return fmt.Sprintf("lock %s is busy: held by %s", quote(e.Key), e.Holder)
	case e.Remaining <= 0:
		return fmt.Sprintf("lock %s is busy", quote(e.Key))
	case e.Holder == "":
		return fmt.Sprintf("lock %s is busy: kept for another %s after its holder has gone (MinHold)", quote(e.Key), remaining)
	case e.Holders > 1:
		return fmt.Sprintf("lock %s is busy: held by %s and %d more for another %s unless renewed",
			quote(e.Key), e.Holder, e.Holders-1, remaining)
	}
	return fmt.Sprintf("lock %s is busy: held by %s for another %s unless renewed", quote(e.Key), e.Holder, remaining)
}

// Is makes errors.Is(err, ErrBusy) true.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// lostError is the ErrLost of one lease, with the reason.
type lostError struct {
	key    string
	reason error
}

func (e *lostError) Error() string {
	return fmt.Sprintf("lease on %s is lost: %s", quote(e.key), e.reason)
}

func (e *lostError) Is(target error) bool { return target == ErrLost }

func (e *lostError) Unwrap() error { return e.reason }
