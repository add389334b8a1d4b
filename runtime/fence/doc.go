// Package fence refuses the writes of stale lock holders, at the resource that the lock protects.
//
// # What it is for
//
// A lease alone cannot protect data. Its holder may stop at any instruction, for a garbage collection, a paused virtual
// machine or a slow network. It may continue after the lease is over, without knowing that:
//
//	time ──▶
//	A   acquires, fence 33 ── reads ──┤ paused ······································├─ writes  ✗ too late
//	lock  lease of A ─────────────────────────┤ over
//	B                                         acquires, fence 34 ── reads ── writes ── releases
//	data  seen: 33                                                  seen: 34           33 < 34: refused
//
// Cancelling the lease's context makes this rare. Only the resource can make it impossible. Every lease has a fence
// that is higher than all before it ([github.com/lockgen/lockgen/runtime.Fence]), and every write carries the fence.
// The resource keeps the highest fence that it has seen, its high-water mark. It refuses a lower one with [ErrStale].
// An equal fence is accepted: a lease may write many times.
//
// # Which one to use
//
// [Guard] and [GuardLease] are for a database: with one call in the transaction, the writes commit only if no higher
// fence was seen. Package redisfence does the same for a command or a script in Redis. [Transport] and [Middleware]
// carry the fence over HTTP to the service that owns the data; they refuse what is stale on arrival.
//
//	err := locks.Do(ctx, "account:42", opts, func(ctx context.Context, lease *lockrt.Lease) error {
//		tx, err := db.BeginTx(ctx, nil)
//		if err != nil {
//			return err
//		}
//		defer tx.Rollback()
//		if err := fence.GuardLease(ctx, tx, "account:42"); err != nil {
//			return err
//		}
//		// read and write with tx
//		return tx.Commit()
//	})
//
// The caller chooses the name of a resource. The lock's key is the best name. Where locks are nested or taken together,
// it is the only name that [GuardLease] and [Transport] understand: they take the fence of the lease whose key equals
// the resource. The fences of one resource must come from one lock key: fences of different keys cannot be compared.
//
// Readers who share a lock share its fence, and the next writer has a higher one. [Check] and [CheckLease] refuse a
// reader that was paused until a later writer had written, without raising the high-water mark. The holders of permits
// are guarded each by its slot, see [PerSlot].
//
// # What is guaranteed
//
//   - SQL: of two transactions that guard the same resource, the one with the lower fence never commits after the one
//     with the higher, at any isolation level. The high-water mark is part of the transaction: it is raised if and only
//     if the writes are made. PostgreSQL and MySQL lock its row, SQLite the whole database, until the transaction ends.
//     Other transactions wait, and then see the new high-water mark, or the database fails them.
//   - Redis: the check, the raise of the high-water mark and the command are one step for all clients of the server. The
//     high-water mark stays raised if the command fails.
//   - HTTP: the check and the raise are one step. After a request has passed, no request with a lower fence passes.
//
// # What is not
//
//   - Writes without the guard are not stopped. Nor is a transaction that commits in spite of the guard's error, or
//     that rolls back to a savepoint from before its guard and continues.
//   - HTTP: a request that passed may still be overtaken in the handler; see [Middleware].
//   - Reads before the guard may be out of date when it returns. Those after it in the same transaction see all that
//     transactions guarded before have committed, in MySQL only if nothing was read before the guard: its snapshot
//     stays as old as the first read.
//   - HTTP: the header is trusted, so authentication must come first; see [Middleware].
//   - A high-water mark that is gone cannot refuse: after Prune or Reset, after an Expiry or Keep that is too short or a
//     Max that is too small, after the data of the resource were restored from a backup together with it, and after a
//     failover that forgot the last writes.
//   - Fences are as good as the lock store that issues them. A store that has lost its data and whose clock went back
//     issues lower fences, and the resource then refuses the new holder. That is safe, and ends when the clock catches
//     up.
package fence
