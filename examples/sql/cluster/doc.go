// Command cluster runs scheduled jobs on three processes that share nothing but a database, and proves that each tick
// runs on exactly one of them.
//
//	cd examples/sql
//	go run ./cluster -store sqlite:/tmp/jobs.db -for 20s -kill 8s
//	go run ./cluster -store 'postgres://user:password@host:5432/db' -for 30s -kill 10s
//	go run ./cluster -store mysql://user:password@host:3306/db
//	go run ./cluster -store etcd://10.0.0.1,10.0.0.2,10.0.0.3 -jobs sqlite:/tmp/jobs.db -for 20s
//	go run ./cluster -store etcd://10.0.0.1,10.0.0.2,10.0.0.3 -jobs redis://10.0.0.4:6379 -for 20s
//
// With the last two the locks are in etcd, and the jobs in a database or in Redis: etcd has no store of jobs.
//
// It creates the tables if they are not there, prints the address of the dashboard, and with -kill ends a process with
// SIGKILL in the middle of a run. The jobs note their starts and ends with a witness that knows nothing of the
// scheduler. The last line compares these notes with the ticks that the specs ask for:
//
//	ticks=44 runs=45 duplicates=0 missed=0 lost=1
//
// Beside the schedule it takes orders: each is a row and, in the same transaction, a one-off job that sends the receipt
// (jobs/sqlstore.Store.PutTx). Every third transaction is rolled back. At the end the receipts must be those of the
// orders that exist. With jobs in Redis nobody orders: it has no transaction for an order in a database and a job.
//
// The exit status is 0 if all this holds, 1 if it does not or the example could not run, and 2 for wrong flags.
package main
