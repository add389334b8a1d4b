package runtime

import (
	"context"
	"log/slog"
	"time"
)

// Store is where locks live: package memstore keeps them in this process, package redisstore in Redis. The comments
// of Store and [Session] are the contract; package storetest is its test and every store passes it.
type Store interface {
	// Open starts a session: one Locker's use of the store. It does not block on the network, touches nothing that
	// the caller owns, and may be called several times, for Lockers that share the store.
	Open(SessionConfig) (Session, error)
}

// SessionConfig is what a session knows of its Locker.
type SessionConfig struct {
	// Namespace separates the locks of different applications in one store.
	Namespace string
	// Node names the process towards people: who holds the lock.
	Node string
	// Logger receives transitions (connection lost and found), never nil.
	Logger *slog.Logger
	// Lost may be called by the session, from its own goroutine, when it learns of the end of a lease before a
	// renewal would: an operator broke it. It does not block. Leases it does not know are ignored.
	Lost func(id string, reason error)
}

// Session is the driver's side of a Locker. All methods may be called concurrently.
//
// A lease is named by its ID, chosen by the caller and never used twice; whatever a method does, it does to the lease
// with this ID only, so every call may be repeated when its reply was lost.
type Session interface {
	// Acquire takes the lock, waiting up to Request.Wait in the order of arrival over all sessions of the store. It
	// returns
	//   - the grant,
	//   - a *BusyError when somebody else held the lock to the end of the wait,
	//   - an error that wraps ctx.Err() when ctx ended first, joined with the *BusyError if the holder is known,
	//   - any other error when the store could not be asked; it wraps the client's error and never is ErrBusy.
	//
	// After an error the caller holds nothing: what the store may have granted meanwhile is given back, in the
	// background if it has to be. A waiter that gives up or dies does not keep the queue for longer than one TTL.
	Acquire(ctx context.Context, req Request) (Grant, error)

	// Renew lets every lease last its TTL again, counted from now; it never shortens one. The result has one element
	// per renewal: nil, ErrLost where the lease is no longer the holder, or an error that leaves it open.
	Renew(ctx context.Context, renewals []Renewal) []error

	// Release ends the lease, hands the lock to the first live waiter or frees it. A lease that is not the holder
	// gives ErrLost and changes nothing.
	Release(ctx context.Context, rel Release) error

	// List returns the held locks whose key begins with prefix, sorted by key. Locks that change hands meanwhile may
	// be missing or twice as old.
	List(ctx context.Context, prefix string) ([]LockInfo, error)

	// Close ends all waiting acquires with ErrClosed, refuses new ones with it, and stops every goroutine of the
	// session. It releases nothing: the other methods still work, for the Locker to release what is held. It returns
	// ctx's error if that ends first, and is idempotent.
	Close(ctx context.Context) error
}

// Request asks for one lease.
type Request struct {
	Key  string
	ID   string
	TTL  time.Duration
	Wait time.Duration // 0: try once; Forever: until the context ends
}

// Grant is a lease that was given.
type Grant struct {
	// Epoch grows with every grant of the key. It is below 2^53.
	Epoch uint64
	// Start is a moment of this process's monotonic clock that is not after the moment at which the store began to
	// count the TTL: for a direct answer the time before the request was sent.
	Start time.Time
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
	// Keep leaves the key taken, by nobody, for this long (Options.MinHold).
	Keep time.Duration
}

// LockInfo describes one held lock at the moment the store was asked.
type LockInfo struct {
	Key       string
	Node      string // who holds it; empty while it is only kept by MinHold
	ID        string // the lease; empty while it is only kept by MinHold
	Fence     Fence  // of the grant; local hand-offs add to it
	Since     time.Time
	Remaining time.Duration
	Waiters   []Waiter // in the order in which they will get it, the first hundred
}

// Waiter is one that waits in the store's queue.
type Waiter struct {
	Node string
	ID   string
}

// Inspector is a Session that can look at one lock without listing. The error is ErrNotHeld if nobody holds it.
type Inspector interface {
	Inspect(ctx context.Context, key string) (LockInfo, error)
}

// Pager is a Session that can list held locks in pages, at a cost that depends on the page and not on all locks.
type Pager interface {
	// ListPage returns about limit of the held locks whose key begins with prefix, sorted by key, and the cursor of
	// the next page, "" after the last. The cursor of the first page is "". The order of the pages is the store's, and
	// one before the last may be short or empty. A lock that is held from the first page to the last is on one of them
	// at least. The error wraps ErrCursor if the store gave no such cursor.
	ListPage(ctx context.Context, prefix, cursor string, limit int) (page []LockInfo, next string, err error)
}

// Breaker is a Session that can take a lock from its holder: the holder's session is told (SessionConfig.Lost), the
// next grant's epoch is higher, and the first live waiter gets the lock. The error is ErrNotHeld if nobody holds it.
type Breaker interface {
	Break(ctx context.Context, key, reason string) error
}
