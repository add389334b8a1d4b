// Package sqlstore keeps jobs in the database that an application already has: PostgreSQL 12 or later, MySQL 8.0 or
// MariaDB 10.6 or later, SQLite 3.35 or later, through database/sql. It imports no driver.
//
// Importing the package makes it the default of jobs.Config.Store for locks in a runtime/sqlstore, which it imports as
// well. Jobs are in the same database as the locks, under the same namespace, in tables whose names have the same
// prefix.
//
//	import (
//		_ "github.com/jackc/pgx/v5/stdlib"
//		_ "github.com/lockgen/lockgen/jobs/sqlstore"
//	)
//
//	locks, err := lockrt.Open(ctx, "postgres://app:PASSWORD@db.example/app", lockrt.Config{})
//	s, err := jobs.New(locks, jobs.Config{})
//
// With locks elsewhere, or to put one-off jobs in transactions of your own, make one with [New] and set
// jobs.Config.Store.
//
// # One-off jobs in a transaction
//
// [Store.PutTx] stores a one-off job in the caller's transaction: the job exists if and only if the transaction
// commits. A crash cannot leave the write without the job, and no job runs for an order that was rolled back.
//
//	tx, err := db.BeginTx(ctx, nil)
//	_, err = tx.ExecContext(ctx, "INSERT INTO orders …")
//	err = store.PutTx(ctx, tx, jobs.OneOff{ID: "receipt-4711", Handler: "receipt", At: time.Now(), Payload: …})
//	err = tx.Commit()
//
// [Store.CompleteTx] ends a run in the transaction of its work: the run is complete if and only if the transaction
// commits. A node that dies after the commit leaves nothing to do again, and the transaction of one whose run was taken
// over cannot commit. So with Retries a job's writes are made once, whatever dies.
//
// # Tables
//
// There are seven tables. [CreateTables] or the statements of [DDL] create them; the files are in the folder ddl.
// Nothing else creates or alters them. One row holds their version, another one a random text by which the database is
// told from others. A role needs exactly the rights of [Grants].
//
// # Transactions
//
// A call is one transaction per 512 of its elements. The row of a job is the lock of everything that belongs to the
// job. A transaction takes these steps. It locks the rows of its jobs in the order of their names, then those of
// one-off jobs and of sessions. A claim leaves out one-off jobs that others have locked. It reads the server's clock,
// then runs and records. Package ledger decides, as it does for the store in memory. Then the rows that changed are
// written in a few statements. Missing rows are inserted. If another transaction was faster, this one is repeated, as
// after a deadlock or a serialization failure.
//
// Transactions are READ COMMITTED, whatever the default of the connection is (READ UNCOMMITTED is refused: reads outside
// of transactions would see what is undone). So a read after a wait for a lock sees
// what the previous holder has written. In SQLite they begin with BEGIN IMMEDIATE.
//
// A process that is stopped inside a transaction of this package, which takes milliseconds, keeps the rows of its jobs
// locked. A scheduler waits for them for a second, and hears then that they are locked. As long as they are, its process
// does not wait for them again, so that other jobs are late by that second, once (in MySQL up to two). PostgreSQL ends such
// a transaction after 5 s. MySQL ends it after wait_timeout if the client's machine is gone, and never if the process is
// only stopped; MariaDB ends it with the parameter idle_transaction_timeout=5 in the URL. SQLite never ends it. The runs of
// the process are taken over all the same when its lease is over, as soon as that can be written: all but those that an
// open transaction has completed.
//
// How long a transaction of this package waits for rows is part of its statements in MariaDB. In MySQL it is set on the
// connection and set back after the transaction, which are two round trips more.
//
// # A power loss
//
// PostgreSQL and MySQL answer a commit when it is on the disk, as they are set up by default. With locks that were
// opened by a URL of SQLite, jobs are on their pool, which has synchronous=NORMAL and a write-ahead log: a power loss,
// or a crash of the machine, may take back the last commits, and ends all processes that use the file. What the jobs
// did elsewhere stays. So a tick without Retries that had run may run again, a run that was recorded may be recorded
// anew, and a one-off job may be gone that [jobs.Scheduler.At] had accepted. What a transaction of the same file wrote
// goes together with its PutTx and CompleteTx. Who wants each commit on the disk opens the pool himself, with
// synchronous=FULL. A process that dies takes nothing back.
//
// # Clocks
//
// The server's clock is used, in SQLite the machine's clock. It is read after the locks are held. Times are kept to the
// microsecond. When the clock is set back, jobs wait until it shows their next tick again: none runs twice, none is left
// out. What ends by the clock, such as the lease of a node that died, ends as much later.
package sqlstore

import (
	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
	locks "github.com/lockgen/lockgen/runtime/sqlstore"
)

func init() { jobs.RegisterStore(beside) }

// beside keeps jobs where the locks are, in tables whose names begin alike.
func beside(locker *lockrt.Locker) (jobs.Store, error) {
	at, ok := locker.Store().(*locks.Store)
	if !ok {
		return nil, nil
	}
	cfg := at.Config()
	return New(at.DB(), Config{Namespace: locker.Namespace(), Dialect: cfg.Dialect, Table: cfg.Table}), nil
}
