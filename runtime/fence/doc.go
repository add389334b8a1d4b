// Package fence refuses the writes of those who no longer hold the lock, at the resource that the lock protects.
//
// # What it is for
//
// A lock with a lease alone cannot protect data. Its holder may stop at any instruction, for a garbage collection, a
// paused virtual machine, a slow network, and go on after the lease is over, without knowing:
//
//	time ──▶
//	A   acquires, fence 33 ── reads ──┤ paused ······································├─ writes  ✗ too late
//	lock  lease of A ─────────────────────────┤ over
//	B                                         acquires, fence 34 ── reads ── writes ── releases
//	data  seen: 33                                                  seen: 34           33 < 34: refused
//
// Cancelling the lease's context makes this rare. Only the resource can make it impossible: every lease has a fence that
// is higher than all before it ([github.com/lockgen/lockgen/runtime.Fence]), every write carries it, and the resource
// keeps the highest that it has seen, its mark, and refuses a lower one with [ErrStale]. An equal fence is accepted: a
// lease may write many times.
//
// # Which one to use
//
// [Guard] and [GuardLease] are for a database: one call in the transaction of the writes, and they commit only if no
// higher fence has been there. Package redisfence does the same for a command or a script in Redis. [Transport] and
// [Middleware] carry the fence over HTTP to the service that owns the data; they refuse what is stale on arrival.
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
// The name of a resource is up to the caller; the lock's key is the best one, and where locks are nested or taken
// together the only one that [GuardLease] and [Transport] understand: they take the fence of the lease that is called
// like the resource. The fences of one resource must come from one lock key: those of different keys say nothing about
// each other.
//
// # What is guaranteed
//
//   - SQL: of two transactions that guard the same resource, the one with the lower fence never commits after the one
//     with the higher, at any isolation level. The mark belongs to the transaction: no mark without the writes, no
//     writes without the mark. PostgreSQL and MySQL lock the row of the mark, SQLite its whole database, until the
//     transaction ends; those who come meanwhile wait, and then see the new mark, or are failed by the database.
//   - Redis: check, mark and command are one step for all clients of the server. The mark stays raised if the command
//     fails.
//   - HTTP: check and mark are one step, so that after a request has passed none with a lower fence does.
//
// # What is not
//
//   - Writes that do not go through the guard are not stopped, nor is a transaction that is committed in spite of the
//     guard's error, nor one that rolls back to a savepoint from before its guard and goes on.
//   - HTTP: a request that passed may still be overtaken in the handler; see [Middleware].
//   - Reads before the guard may be out of date when it returns. Those after it in the same transaction see all that
//     transactions guarded before have committed, in MySQL only if nothing was read before the guard: its snapshot
//     stays as old as the first read.
//   - HTTP: a header is believed, so that authentication must stand in front; see [Middleware].
//   - A mark that is gone cannot refuse: after Prune or Reset, after an Expiry or Keep that is too short or a Max that is
//     too small, after the data of the resource and its mark were restored from a backup, and after a failover that
//     forgot the last writes.
//   - Fences are as good as the lock store that issues them; a store that lost its data and whose clock went back
//     issues lower ones, and then the resource refuses the new holder. That is safe, and ends when the clock catches up.
package fence
