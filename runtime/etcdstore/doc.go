// Package etcdstore keeps locks in etcd, for lockrt.New and lockrt.Open. It is a module of its own, so that only
// programs that use etcd download its client:
//
//	import _ "github.com/lockgen/lockgen/runtime/etcdstore"
//
//	locks, err := lockrt.Open(ctx, "etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379/myteam", lockrt.Config{})
//
// The URL is etcd://[user:password@]host:port,…[/prefix]. All keys in etcd begin with the prefix, "lockgen/" by default.
// etcds:// is for TLS, with the options ca, cert, key (names of files in PEM) and server_name. A client of the
// caller's goes to [New].
//
// # What is promised
//
// A lock is held by at most one process, also while etcd elects another leader, a member dies or stands still, or the network
// is parted: every grant is a write that a majority of the members has agreed on. Each lease is believed in only for as long
// as the leader of etcd will keep it, counted on this process's monotonic clock from the last sign of life that etcd
// has acknowledged. A majority has confirmed afterwards that the one who acknowledged it was the leader. No clock is
// compared with another.
//
// Waiting is first come first served. The next waiter is told by etcd when the one before it has gone. All look again
// every 10 s. A busy lock that a caller tries once costs one read and no write, and a read more if several hold it. A
// lock that is taken and released costs two writes, and one round trip each; one that is taken without waiting costs a
// read more.
//
// From the fifth concurrent call of a process on, callers share transactions, up to 64 in one, each with conditions of
// its own. If etcd refuses one for a part of it, the parts are asked for alone.
//
// Readers and permits stand in the same queue. One that finds others inside, with whom it may share the lock, costs one
// call more than one that finds it free. One that has waited costs a write more, which may be made for several at once.
//
// # What is not
//
// When a process dies, its locks are free after up to twice their TTL, and not before 2 s. etcd counts leases in whole
// seconds and gives none shorter than 1.5 times its election timeout. The locks of one process with about the same
// TTL share one lease of etcd, which is longer than theirs. A change of etcd's leader begins the leases of the dead
// anew. As long as a process lives it ends its leases itself, to the millisecond.
//
// What holds the locks of a dead process up is only time. What etcd forgets is gone at once: if a process cannot reach
// etcd for longer than such a lease lasts, all its locks with about the same TTL are lost together. Their contexts have
// ended before.
//
// LockInfo.Since is the time of the request, on the clock of its process. LockInfo.Remaining is the whole TTL: etcd does
// not say when a lock was renewed last.
//
// A reader or a permit that has been let in while its process dies is counted until its lease is over. So is one that
// stands in the queue: the others of its kind who follow it are let in when it has gone.
//
// # How it works
//
// Each request for a lock puts a key below the name of the lock. The oldest of them holds the lock; the others wait,
// each for the one before it. Its value has the ID of the lease, so that a request may be repeated. Its name is one that
// the process has used before, if it can: until the history is compacted, etcd goes through all names that a lock ever
// had. A release compares the revision at which the key was made.
//
// The value of a key says whether it is for reading, or for a permit. Who holds the lock follows from the order of the
// keys alone: the oldest one, beside a reader all readers that follow it, and beside a permit all permits that follow it
// while fewer than their own number are before them. Keys come at the end and leave anywhere, so that whoever is let in
// stays so. What it is given then, the epoch of the readers or the slot of the permit, is written into its key, by itself
// or by the one before it, if none of the keys that are written has changed since they were read.
//
// A request whose answer is lost may arrive much later. Each one names the generation of its session, which is another
// key in etcd. When a caller gives a request up that has had no answer, that key is deleted together with what the
// request may have put, in one step. From then on the request refuses itself. Requests that are under way then have to be
// made again. So a crowd that gives up does that once in 5 s, and what its requests may have put is deleted at once too.
//
// A server that is slow has queued what it is late with, and applies it although its callers have left. So a process sends
// a write again only when a request that it sent later has had an answer, and has at most 64 writes under way or queued. It
// has few when answers take longer than the renewals of its leases can bear, which wait behind them, and one more with each
// answer in time, unless the answer to that one would be late. Releases go first, and then callers whose request has begun.
// Who has less time than an answer takes is not sent. What a session needs before its first lock is made once, whoever
// gives up meanwhile.
//
// When etcd has another leader, the process has new leases of etcd granted, and moves all locks that it holds to them, up to 64
// in one write. A former leader that stood still, as one whose machine was paused, revokes when it goes on what nobody has
// renewed as far as it knows, although its successor has renewed it (https://github.com/etcd-io/etcd/issues/15247). Nothing that
// anybody believes in is under that then: a lease of etcd counts for as long as the leader that granted it has heard.
//
// Break marks the lease and tells the session of its holder by a key that the session watches. That key goes with the
// lease of etcd that the lock has, since the session may be dead. MinHold is a lease of etcd of its own.
//
// # Fences
//
// The epoch of a grant is twice the revisions from a base to the one at which its key was made, plus the time in µs at
// which the first process of the namespace found no base and made one. Readers who hold the lock together have that of
// the first of them. A writer that becomes a reader has its own, or the next. So fences go on growing when a namespace
// moves here from Redis or from a database, and when it moves to another cluster of etcd. A cluster that is restored from
// a snapshot keeps its name and repeats revisions: restore it with a higher revision (etcdutl snapshot restore
// --bump-revision), or delete the keys that end in /b below the prefix while no process runs.
//
// # Servers, quota and history
//
// Servers before 3.4.31 and 3.5.13 are refused: a stuck old leader revokes leases that are being renewed
// (https://github.com/etcd-io/etcd/issues/15247). All servers that the client names and that answer are asked, at the
// first use.
//
// etcd keeps all revisions until they are compacted, and takes no writes when its database has reached the quota (2 GiB
// by default). Each lock that is taken and released makes two revisions. Set --auto-compaction-mode and
// --auto-compaction-retention, and defragment from time to time. The log says at the first use if the history seems not
// to be compacted. When the database is full, held locks are renewed and released, and calls that take one fail with
// an error that says what to do. A lock that MinHold keeps is kept for as long as its process lives then. If etcd changes its
// leader meanwhile, no held lock can be moved, and those end at their deadline.
//
// # Rights
//
// With authentication the account needs the right to read and write below the prefix. Leases need none of their own.
package etcdstore
