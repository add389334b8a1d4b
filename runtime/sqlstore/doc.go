// Package sqlstore keeps locks in the database that an application already has: PostgreSQL 12 or later, MySQL 8.0 or
// MariaDB 10.6 or later, SQLite 3.35 or later, through database/sql. It imports no driver.
//
//	import (
//		_ "github.com/jackc/pgx/v5/stdlib"
//		_ "github.com/lockgen/lockgen/runtime/sqlstore"
//	)
//
//	locks, err := lockrt.Open(ctx, "postgres://app:PASSWORD@db.example/app", lockrt.Config{})
//
// or lockrt.New(sqlstore.New(db, sqlstore.Config{}), lockrt.Config{}) with a pool of the application's own. The URLs
// are postgres:// and postgresql:// as the drivers pgx and lib/pq read them, mysql://user:password@host:3306/database
// with the parameters of github.com/go-sql-driver/mysql, and sqlite:FILE.
//
// # Tables
//
// There are two, made by [CreateTables] or by what [DDL] returns; the files stand in the folder ddl. Nothing else
// creates or alters them. One row in the first has their version. What a role needs is what [Grants] returns, and no
// more.
//
// # Protocol
//
// One row is one lock, and the waiters stand in it: a line for each, in order of arrival. A row without an owner keeps
// the last epoch. Every step is one statement that commits by itself. So no transaction is open while a client decides:
// a client that stops at any point keeps nobody waiting for longer than its lease. Any pooler may stand in between.
//
//	             take: free                              free: nobody waits
//	(free) ─────────────────────────▶ (held by A) ───────────────────────────▶ (free)
//	                                     │  ▲
//	       read: held → join: B is queued│  │ read → swap: B is the first that lives, and owns it
//	                                     ▼  │
//	                                  (held by A, B queued)
//
// Every other step reads the row, decides in this process (decide.go), and writes by a statement that does nothing if
// the row has another version by then. In that case the row is read again. So a decision rests on one state of the row,
// whatever the isolation of the engine shows to a statement that has waited, and whatever its planner makes of an
// expression. All three engines share one logic. Each version stands for a change: when one has to try again, another
// has succeeded.
//
// A lock that readers or permits hold has the owner * and, in another column, a line for each who holds it, with the end
// of its lease. So no statement for an exclusive lease takes, renews or frees it. Whoever changes such a row drops those
// whose leases are over, and then grants the lock to the first in the queue while they fit. Renewals replace the end in
// one line and nothing else. While several hold a lock, those who wait look every Liveness for dead processes in front
// of others who would fit.
//
// An acquire of a busy lock without a wait writes nothing. Calls of many goroutines share statements: while four are
// under way, those that come are gathered, and one statement takes or frees up to 128 locks. Statements on several rows
// take them in the order of their names. In PostgreSQL they skip those that somebody has locked, in MySQL those that
// another statement of the process is at. Two statements at the most are under way for one row, so that a row which
// another program keeps locked holds up nobody else for long. Whatever a shared statement leaves open is then tried
// alone. Renewals leave out rows that somebody has locked, and wait for those apart from the others. So does what takes
// back leases that nobody wants. MySQL says how many rows it has changed and not which: if those are not all, the rows
// are read.
//
// A release of a lease that was waited for, or behind which others of the same process wait, begins with the read: as a
// rule somebody stands in the queue.
//
// # Waiting
//
// A process asks about all locks that it waits for in one statement, between Config.PollMin and PollMax apart: twice in
// the time that it expects to wait, by its place in the queue and how long the lock was held of late, and when the
// lease in the way ends. With the same statement it learns which of its own leases were broken; while it only holds
// locks, it asks for that every PollMax. A holder that does not hear of it is refused the next renewal.
//
// In SQLite a process that waits looks every 2 ms whether anybody has written to the file, which costs next to nothing,
// and asks when somebody has.
//
// With a Config.Listener, that of package pgxlisten, processes notify each other in PostgreSQL when a lock changes
// hands. A notification is sent after the commit that it reports, together with others, and a release waits until it is
// sent. A process that receives one asks at once. Otherwise it asks every two seconds, with its sign of life. A
// process that does not receive its own notifications polls as above.
//
// A release makes the first waiter whose process is alive the owner. A waiting process shows that it is alive every
// Liveness/3 in the second table. A process does not count as dead while its entry in the queue is younger than
// Liveness. No process counts as dead while the server has not been up for that long (PostgreSQL), or was so slow of
// late that no process could show life. A waiter whose process dies may still be granted the lock. It delays the others
// for its lease or for Liveness, whichever is longer.
//
// # Clocks
//
// The server's clock counts, in SQLite that of the machine. No clock is compared with another. A lease is counted in
// the process on the monotonic clock from a moment before the statement was sent that read the clock. A step of the
// server's clock forwards takes as much from every lease, which its holder learns at its next renewal. Whoever waits may
// lose his place by it, and stands in line anew within 30 s. A step back keeps locks of the dead, and those kept by
// MinHold, for as much longer. Fences grow in both cases, for as long as the row of the lock is there. A row that was
// granted while the clock was ahead has an epoch of that time. If it was deleted before the clock was set right, after
// nobody had wanted the lock for Config.Retention, the next fences are lower, until the clock has come that far.
//
// # A request that comes late
//
// Every statement that takes a lock or joins a queue carries the latest moment, on the server's clock, at which it may
// act, 5 s at most. PostgreSQL looks at it after the statement has waited for the row. A caller that leaves within 100
// ms of the end of its context therefore leaves nothing: what it asked for is cancelled at once, and again when the
// moment has passed, if there was no answer. In MySQL a statement that waits for a row acts as of the moment at which it
// began, so it is looked for, more and more rarely, for as long as it may wait: innodb_lock_wait_timeout, and 5 s for a
// table that a backup or a migration has locked. In MariaDB that is lock_wait_timeout, a day by default. A URL sets it to 5
// s; without that a lock that was asked for while the table was locked for longer may stay taken for its TTL, held by nobody.
//
// # Fences
//
// Each grant has an epoch, the greater of the last epoch + 1 and the server's clock in µs. Readers who hold a lock
// together share one. Rows are deleted when nobody has wanted the lock for Config.Retention; later the clock alone
// makes epochs grow, and those after it was set back may be lower: see Clocks.
//
// # The lock and the write in one transaction
//
// [DoTx] runs a function in a transaction that is committed before the lock is released.
//
// In PostgreSQL [Guard], which it uses, makes a transaction part of the lease: what it commits is committed under the
// lock, even past the end of the lease. No other store can do that. Behind a reader's transaction no writer gets the
// lock; others may read beside it. The lease of a permit guards none: DoTx uses package fence for it, which keeps a mark
// for each slot. MySQL and SQLite have no lock on a row that would
// let renewals pass; there DoTx uses package fence, which refuses the writes of stale holders, as it does for locks that
// are kept elsewhere.
//
// # What a failover forgets
//
// A replica that is behind when it is promoted has not heard of the last grants, nor of the last renewals: a second
// holder is possible until the first learns of it at its next renewal, and its fence is higher.
// synchronous_standby_names in PostgreSQL, semi-synchronous replication (AFTER_SYNC) in MySQL and Galera forget
// nothing. Grants and renewals wait for the disk. Releases, joins and signs of life do not in PostgreSQL: a crash of
// the server only makes such a lock last to its TTL.
//
// In SQLite nothing waits for the disk on the connections of a URL, which have synchronous=NORMAL and a write-ahead
// log: a power loss, or a crash of the machine, may take back the last commits. It ends all processes that use the file
// as well, so that nobody goes on under a lease that is forgotten, and the next fence is higher by the clock. A process
// that dies takes nothing back. Jobs that are kept on the same pool may run again: see package jobs/sqlstore. Who wants
// each commit on the disk opens the pool himself, with synchronous=FULL.
//
// # Servers, settings and poolers
//
// Refused with the reason: older versions, read-only servers, another default isolation than READ COMMITTED in
// PostgreSQL, CockroachDB and YugabyteDB, TiDB, READ UNCOMMITTED in MySQL and SQLite, binlog_format=STATEMENT with READ
// COMMITTED and sql_select_limit in MySQL, SQLite in memory.
// Behind a proxy that splits reads and writes reads may be old: nothing is granted by one, but a lock may look busy
// that is free.
//
// In SQLite the store prepares its statements, once for each connection, and closes them when its last Locker closes. In
// MySQL it prepares none, which would count against the server's max_prepared_stmt_count: give a pool of your own
// interpolateParams=true, or the driver makes two round trips of each statement. In PostgreSQL that is the driver's
// affair.
//
// Behind a pooler in transaction mode, such as pgbouncer, PostgreSQL's drivers need default_query_exec_mode=exec (pgx)
// or binary_parameters=yes (lib/pq). Sessions set nothing on their connections. A URL of MySQL bounds by 5 s for how long
// statements wait for locks at the server; give a pool of your own innodb_lock_wait_timeout=5 and lock_wait_timeout=5.
//
// SQLite has one writer at a time, and locks write: give them a file of their own. A process that is stopped inside a
// write blocks all others.
//
// # Bloat
//
// In PostgreSQL every change of a row leaves a dead version, which the next ones clean up as long as no transaction is
// open elsewhere that may still see it. One that stays open for minutes makes a hot lock slower and slower; the column
// backend_xmin of pg_stat_activity tells who that is.
package sqlstore
