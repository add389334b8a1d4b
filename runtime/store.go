package lockrt

import (
	"context"
	"log/slog"
	"time"
)

// Store is where locks are kept: package memstore keeps them in this process, package redisstore in Redis, package
// sqlstore in a database. The comments of Store and [Session] are the contract. Package storetest tests it, and every
// store passes it.
type Store interface {
	// Open starts a session: one Locker's use of the store. It does not block on the network and changes nothing that
	// the caller owns. It may be called several times, for Lockers that share the store.
	Open(SessionConfig) (Session, error)
}

// SessionConfig describes the Locker to its session.
type SessionConfig struct {
	// Namespace separates the locks of different applications in one store.
	Namespace string
	// Node is the name of the process for people: who holds the lock.
	Node string
	// Logger receives transitions (connection lost and found), never nil.
	Logger *slog.Logger
	// Lost is called by the session when it learns of the end of a lease before a renewal would: an operator broke the
	// lease, or the store has lost it. When Lost returns, the work's context has ended. Only then may the session pass
	// a broken lock on. It does not block. Lost may name a lease that the Locker does not know yet, because the answer
	// to its Acquire is under way. Such a lease is over as soon as it is known.
	Lost func(id string, reason error)
	// Held returns the leases that the Locker considers held. A session whose connection was cut may have missed
	// something. It then asks the store about these leases and calls Lost for those that are gone. A nil function means
	// that there are none.
	Held func() []HeldLease
}

// HeldLease is a lease that a Locker considers held.
type HeldLease struct{ Key, ID string }

// Session is the driver's side of a Locker. All methods may be called concurrently. All return within 100 ms of the end
// of their ctx, and fail after 5 s if the store does not answer. While ctx has not ended, that error is not a context
// error.
//
// The ID of a lease is chosen by the caller and never used twice. A method affects only the lease with this ID, so
// every call may be repeated when its reply was lost.
type Session interface {
	// Acquire takes the lock, waiting up to Request.Wait in the order of arrival over all sessions of the store. It
	// returns
	//   - the grant,
	//   - a *BusyError when the store said that somebody else holds the lock, and the wait is over,
	//   - an error that wraps ctx.Err() when ctx ended first, joined with the *BusyError if the store named a holder,
	//   - an error that wraps ErrLost when the lease was broken before the grant became known,
	//   - any other error when the store could not be asked; it wraps the client's error and is neither ErrBusy nor,
	//     while ctx lives, the error of a context.
	//
	// The 5 s are for one request: a wait goes on for as long as the store answers. After an error the caller holds
	// nothing. If the store has granted the lock meanwhile, or grants it later to a request that was under way, the
	// session gives it back in the background. A waiter that gives up does not delay others. A waiter that dies delays
	// others for one lease, or for the time in which the store notices the death, whichever is longer.
	Acquire(ctx context.Context, req Request) (Grant, error)

	// Renew extends every lease to its TTL from now. It never shortens a lease. The result has one element per renewal:
	// nil; ErrLost if the lease does not hold the lock any more or was broken; or any other error if that is not known.
	// A TTL beyond Grant.MaxTTL gives an error of the last kind.
	Renew(ctx context.Context, renewals []Renewal) []error

	// Release ends the lease. It hands the lock to the first live waiter, or frees it. The error is ErrLost, and
	// nothing changes, if the lease does not hold the lock. If ctx ends before the store has answered, the release goes
	// on in the background.
	Release(ctx context.Context, rel Release) error

	// List returns the held locks whose key begins with prefix, sorted by key. Locks that change hands meanwhile may be
	// missing, or appear twice with older data.
	List(ctx context.Context, prefix string) ([]LockInfo, error)

	// Close ends all waiting acquires with ErrClosed, refuses new ones with it, and stops every goroutine of the
	// session. It releases nothing: the other methods still work, so that the Locker can release what is held. It
	// returns ctx's error if ctx ends first. It is idempotent.
	Close(ctx context.Context) error
}

// Request asks for one lease.
type Request struct {
	Key  string
	ID   string
	TTL  time.Duration
	Wait time.Duration // 0: try once; Forever: until the context ends

	// Told, if not nil, is called with every answer of the store while the request waits: who holds the lock, or why
	// the store did not answer. It does not block.
	Told func(*BusyError, error)
	// Keep, if not nil, is called once when ctx or the wait ends and the request may be in the queue. If it returns
	// true, the place in the queue stays: an Acquire with the same ID follows at once. It continues the wait there, or
	// gives the place up if its ctx has ended. A session that cannot do that never calls Keep.
	Keep func() bool
}

// Grant is a lease that was given.
type Grant struct {
	// Epoch grows with every grant of the key. It is below 2^53.
	Epoch uint64
	// Start is a time on this process's monotonic clock. It is not after the moment at which the store began to count
	// the TTL. For a direct answer it is the time before the request was sent. For engines that count the life of a
	// process, it is that of the last acknowledged sign of life.
	Start time.Time
	// TTL is the granted TTL if it differs from the requested one. 0 stands for Request.TTL. A renewal asks for the
	// whole TTL again.
	TTL time.Duration
	// MaxTTL is the longest TTL that the store gives this lease, for engines with such a limit, for example from a
	// negotiated session. Renewals ask for no more, except those of Lease.Extend. 0 means no limit.
	MaxTTL time.Duration
}

// Renewal asks for one lease to last TTL again.
type Renewal struct {
	Key string
	ID  string
	TTL time.Duration
}

// Release ends one lease.
type Release struct {
	Key string
	ID  string
	// Keep leaves the key locked without a holder for this long (Options.MinHold).
	Keep time.Duration
}

// LockInfo describes one held lock at the moment the store was asked. Since and Remaining may be estimates.
type LockInfo struct {
	Key       string
	Node      string // who holds it; empty while it is only kept by MinHold
	ID        string // the lease; empty while it is only kept by MinHold
	Fence     Fence  // of the grant; local hand-offs add to it
	Since     time.Time
	Remaining time.Duration
	Waiters   []Waiter // in the order in which they will get it, the first hundred
}

// Waiter is an entry of the store's queue.
type Waiter struct {
	Node string
	ID   string
}

// Inspector is a Session that can read the state of one lock without a list. The error is ErrNotHeld if nobody holds
// it.
type Inspector interface {
	Inspect(ctx context.Context, key string) (LockInfo, error)
}

// Pager is a Session that can list held locks in pages, at a cost that depends on the page and not on all locks.
type Pager interface {
	// ListPage returns about limit of the held locks whose key begins with prefix, sorted by key, and the cursor of the
	// next page, "" after the last. The cursor of the first page is "". The store chooses the order of the pages, and a
	// page before the last may be short or empty. A lock that is held from the first page to the last is on at least
	// one of them. The error wraps ErrCursor if the store gave no such cursor.
	ListPage(ctx context.Context, prefix, cursor string, limit int) (page []LockInfo, next string, err error)
}

// Checker is a Session that can ask whether leases still hold their locks. It asks the server that would renew them,
// since a replica may be behind. The result has one element per lease: nil, ErrLost, or any other error if that is not
// known.
type Checker interface {
	Check(ctx context.Context, leases []HeldLease) []error
}

// Breaker is a Session that can end another session's lease. Break marks it: it cannot be renewed any more, and its
// session is told (SessionConfig.Lost). When that session has ended it, or at the end of its TTL, the first live waiter
// gets the lock. Marking a lease twice is no error. The next grant's epoch is higher. The error is ErrNotHeld if that
// lease does not hold the lock.
type Breaker interface {
	Break(ctx context.Context, b Breaking) error
}

// Breaking names the lease to end. It never affects a later holder of the lock.
type Breaking struct {
	Key    string
	ID     string // LockInfo.ID; empty for a lock that MinHold keeps, which goes on at once
	Fence  Fence  // LockInfo.Fence
	Reason string
	// Force hands the lock on at once, for a holder that is known to be dead. If the holder is alive, it works at the
	// same time as the next one until it is told. Its fence is lower.
	Force bool
}
