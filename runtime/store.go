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
	// Recall is called by the session when somebody begins to wait behind a reader's lease. The Locker then lets no
	// more of its callers share that lease, so that they do not overtake whoever waits. It does not block. A call that
	// is lost, or of a lease that the Locker does not know, only delays that until Config.LocalHandoffTime has passed.
	// A nil function means that nobody wants to know.
	Recall func(id string)
}

// HeldLease is a lease that a Locker considers held.
type HeldLease struct {
	Key     string
	ID      string
	Mode    Mode   // that of the request, or Read after a Downgrade
	Permits int    // that of the request
	Epoch   uint64 // that of the grant, or of the Downgrade
}

// Session is the driver's side of a Locker. All methods may be called concurrently. All return as soon as their ctx has
// ended, within 100 ms at most, and fail after 5 s if the store does not answer. While ctx has not ended, that error is not
// a context error. A release has up to 80 ms more than its caller: what a driver takes beyond the rest of 100 ms, the caller
// waits longer than it was promised.
//
// The ID of a lease is chosen by the caller and never used twice; it has no spaces. A method affects only the lease with
// this ID, so every call may be repeated when its reply was lost.
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
	// A TTL beyond Grant.MaxTTL gives an error of the last kind. What the store does when the call has ended is not
	// reckoned with: the lock may then stay there for longer than the Locker knows, for a TTL at the most.
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
	// returns ctx's error if ctx ends first. It is idempotent. When the last release is over the Locker calls it once
	// more: then it waits for what it has left for later because of them, and says what stays in the store.
	Close(ctx context.Context) error
}

// Request asks for one lease.
type Request struct {
	Key  string
	ID   string
	TTL  time.Duration
	Wait time.Duration // 0: try once; Forever: until the context ends

	// Mode and Permits say with whom the lease may share the lock, see [Sharer]. A session that is no Sharer gets only
	// requests with their zero values: the lease holds the lock alone.
	Mode    Mode
	Permits int

	// Told, if not nil, is called with every answer of the store while the request waits: who holds the lock, or why
	// the store did not answer. It does not block.
	Told func(*BusyError, error)
	// Keep, if not nil, is called once when ctx or the wait ends and the request may be in the queue. If it returns
	// true, the place in the queue stays: an Acquire with the same ID follows at once. It continues the wait there, or
	// gives the place up if its ctx has ended. A session that closes gives up the places that no Acquire has come for. One
	// that cannot keep places never calls Keep.
	Keep func() bool
}

// Grant is a lease that was given.
type Grant struct {
	// Epoch grows with every grant of the key. It is below 2^53. Readers that hold the lock together share one.
	Epoch uint64
	// Slot is the number of the permit, from 0 to Request.Permits-1, the lowest that was free.
	Slot int
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
	Key     string
	ID      string
	TTL     time.Duration
	Mode    Mode   // as in HeldLease
	Permits int    // as in HeldLease
	Epoch   uint64 // as in HeldLease
}

// Release ends one lease.
type Release struct {
	Key string
	ID  string
	// Keep leaves the key locked without a holder for this long (Options.MinHold), of a permit its slot. It is 0 for
	// readers.
	Keep    time.Duration
	Mode    Mode   // as in HeldLease
	Permits int    // as in HeldLease
	Epoch   uint64 // as in HeldLease
}

// LockInfo describes one held lock at the moment the store was asked. Since and Remaining may be estimates.
type LockInfo struct {
	Key       string
	Node      string // who holds it, the first of Holders; empty while it is only kept by MinHold
	ID        string // the lease; empty while it is only kept by MinHold
	Fence     Fence  // of the grant; local hand-offs add to it
	Since     time.Time
	Remaining time.Duration // until it is free if nobody renews, of permits until one is
	Mode      Mode          // Read if readers hold it
	Limit     int           // Options.Permits if permits hold it, of one of them if they differ; else 0
	// Holders are all who hold the lock, one for each lease at the store, in no certain order. A list has a hundred of
	// them, [Locker.Holder] all.
	Holders []Holder
	Waiters []Waiter // in the order in which they will get it, the first hundred
}

// Holder is one of those who hold a lock.
type Holder struct {
	Node      string // empty while only MinHold keeps its place
	ID        string // the lease; empty while only MinHold keeps its place
	Fence     Fence  // of the grant; local hand-offs add to it
	Slot      int    // the number of the permit, see Lease.Slot; -1 without permits
	Since     time.Time
	Remaining time.Duration
}

// Waiter is an entry of the store's queue.
type Waiter struct {
	Node    string
	ID      string
	Mode    Mode
	Permits int
}

// Sharer is a Session whose locks can be held by several at a time. Leases of three kinds hold a lock: one writer
// alone, readers (Request.Mode), or permits (Request.Permits). Kinds exclude each other.
//
//   - All wait in one queue in the order of arrival, whatever their kind. A request is granted at once only if nobody
//     waits. At every change the first in the queue is admitted while it fits: if nobody holds the lock, if it reads
//     and readers hold the lock, or if fewer permits than its own Request.Permits hold it. That includes the departure
//     of the first in the queue, for whatever reason, and the end of a lease of one among several.
//   - Readers that hold the lock together share an epoch. The next writer's is higher. Permits have an epoch each, and
//     a slot each: two that are held at the same time never have the same.
//   - The end of one lease, by Release, by its TTL or by Break, does not affect those who share the lock with it. Every
//     Renew and Release names its lease, so that a repeated one counts once.
//   - When somebody begins to wait behind readers, the session calls SessionConfig.Recall of their sessions, so far as
//     it can.
//   - A list names the holders in LockInfo.Holders; a BusyError counts them. With one exclusive holder LockInfo.Holders
//     may be empty: the Locker then names that one.
type Sharer interface {
	Session
	// Shares does nothing. It says that the session keeps this contract.
	Shares()
}

// Downgrader is a Sharer that can make a writer a reader.
type Downgrader interface {
	// Downgrade lets a writer's lease go on as a reader's, without a moment in between, before all who wait. Then the
	// readers at the head of the queue are admitted. It returns the epoch of the lease, which is that of all readers
	// who hold the lock together with it. It may be repeated: for a lease that is a reader's already it returns its
	// epoch. The error wraps ErrLost if the lease does not hold the lock.
	//
	// Renewals and releases of the lease may be under way meanwhile, and the caller may not hear of the answer. So
	// those that name either mode mean the lease, whichever it has.
	Downgrade(ctx context.Context, d Downgrading) (epoch uint64, err error)
}

// Downgrading names the lease that becomes a reader's.
type Downgrading struct {
	Key   string
	ID    string
	Epoch uint64 // that of the grant
	// NewEpoch asks for an epoch above all before, because the lease has passed on since its grant. Without it the
	// epoch stays.
	NewEpoch bool
}

// Inspector is a Session that can read the state of one lock without a list, with all its holders. The error is
// ErrNotHeld if nobody holds it.
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
	ID     string // Holder.ID; empty for a lock or a slot that MinHold keeps, which goes on at once
	Fence  Fence  // Holder.Fence
	Reason string
	// Force hands the lock on at once, for a holder that is known to be dead. If the holder is alive, it works at the
	// same time as the next one until it is told. Its fence is lower.
	Force bool
}
