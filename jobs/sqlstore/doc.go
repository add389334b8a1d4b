// Package sqlstore keeps jobs in the database that an application already has: PostgreSQL 12 or later, MySQL 8.0 or
// MariaDB 10.6 or later, SQLite 3.35 or later, through database/sql. It imports no driver.
//
// Importing the package makes it the default of jobs.Config.Store for locks in a runtime/sqlstore, which it imports as
// well: jobs are beside the locks, under the same namespace, in tables whose names begin alike.
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
// [Store.PutTx] puts a one-off job in the caller's transaction: it exists if and only if that commits. A crash between
// the write and the job loses neither alone, and no job runs for an order that was rolled back.
//
//	tx, err := db.BeginTx(ctx, nil)
//	_, err = tx.ExecContext(ctx, "INSERT INTO orders …")
//	err = store.PutTx(ctx, tx, jobs.OneOff{ID: "receipt-4711", Handler: "receipt", At: time.Now(), Payload: …})
//	err = tx.Commit()
//
// # Tables
//
// There are seven, made by [CreateTables] or by what [DDL] returns; the files stand in the folder ddl. Nothing else
// creates or alters them. One row has their version. What a role needs is what [Grants] returns, and no more.
//
// # Transactions
//
// A call is one transaction for each 256 of its elements. The row of a job is the lock of all that belongs to it. A
// transaction locks the rows of its jobs in the order of their names, then those of one-off jobs and of sessions; reads
// the server's clock; reads runs and records; has package ledger decide, which the store in memory uses too; and writes
// the rows that changed, in a few statements. What was not there is inserted, and if another was faster the transaction
// is repeated, as after a deadlock or a serialization failure.
//
// Transactions are READ COMMITTED, whatever the default of the connection is, so that what is read after a wait for a
// lock is what the one before has written. In SQLite they begin with BEGIN IMMEDIATE.
//
// A process that is stopped inside a transaction keeps others from the jobs in it. In PostgreSQL the server ends such a
// one after 5 s; in MySQL after wait_timeout if the client's machine is gone, and never while it only stands still; in
// SQLite never. Its runs are taken over all the same when its lease is over, as soon as that can be written.
//
// # Clocks
//
// The server's clock counts, in SQLite that of the machine, and it is read after the locks are held. Times are kept to
// the microsecond.
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
