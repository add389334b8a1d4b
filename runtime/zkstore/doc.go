// Package zkstore keeps locks in ZooKeeper, for lockrt.New and lockrt.Open. It is a module of its own, so that only
// programs that use ZooKeeper download its client:
//
//	import _ "github.com/lockgen/lockgen/runtime/zkstore"
//
//	locks, err := lockrt.Open(ctx, "zk://10.0.0.1,10.0.0.2,10.0.0.3/myteam", lockrt.Config{})
//
// The URL is zk://[user:password@]host:port,…[/prefix][?session=10s&tick=2s]. Everything is below the node with the
// name of the prefix, "lockgen" by default. zks:// is for TLS, with the options ca, cert, key (names of files in PEM) and
// server_name. [New] takes the same in a [Config].
//
// # What is promised
//
// A lock is held by at most one process, also while ZooKeeper elects another leader, a server dies, or the network is
// parted: every grant rests on a write that a majority of the servers has agreed on. Each lease is believed in only for
// as long as the leader is certain to keep the session of this process, counted on its monotonic clock. No clock is
// compared with another, but for MinHold, below.
//
// Waiting is first come first served. ZooKeeper tells the next waiter when the one before it has gone. All look again
// every 10 s. A free lock costs one write and one round trip, and so does its release. A caller that does not wait looks
// first, which is one more: a busy lock costs it reads only, unless MinHold keeps that and the servers' time is to be asked for.
//
// A connection that is cut, or a server that dies, costs no lock as long as the session lasts. Whatever a request has
// made of which nobody heard is found again or deleted in the background.
//
// # What is not
//
// When a process dies, its locks are free when the servers forget its session: after Config.SessionTimeout, whatever
// their TTL is, and up to two ticks later. As long as a process lives it ends its leases itself, within a round trip.
//
// No lease is longer than what is left of that time after a tick of the servers and two signs of life: 6 s with the
// defaults. A longer TTL is granted for that long and renewed in time; Lease.Extend beyond it is an error.
//
// If the servers forget the session, because they could not be reached for too long, all locks of the process are lost
// at once. Their contexts have ended before. Its waiters join again, at the end of the queue.
//
// The names of all locks that a Locker holds and waits for take a megabyte at the most, some 10,000 locks; what is more is
// an error. When a session runs out, ZooKeeper writes its nodes into one change, and servers cannot read one that is
// longer than their jute.maxbuffer, or twice that: all of them would stop (ZOOKEEPER-4306). More Lockers take more.
//
// A session that is closed while it still holds something, which a Locker never does, leaves that to the timeout.
//
// LockInfo.Since is the time of the request, on the clock of its process. LockInfo.Remaining is the whole TTL:
// ZooKeeper does not say when a lock was renewed last. A list reads the names of all locks at once.
//
// Keys of locks that differ in mode, such as those for readers, are not supported.
//
// # How it works
//
// A lock is a container node, a request an ephemeral sequential child of it, whose name has the ID of the lease. The
// oldest child holds the lock. It is made together with a change of the lock's node, whose answer tells the zxid of
// both, and whether there are other children.
//
// The number that ZooKeeper adds to the name has 32 bits. At its end it stands still, or begins below zero. From there
// on the zxids of the creation are asked for, and tell the order.
//
// A child counts as that of a request only under the present session. When an answer is lost, its child is looked for
// after a sync: what was sent on a connection that is gone has been done by then, or is refused.
//
// While a process holds a lock or waits for one, it writes once in a tenth of the session's time, and once in a second
// at the least: reads alone are answered by servers that the leader has lost sight of. The leader learns of signs of
// life from the other servers with a delay of up to a tick, so a lease counts from one that is older, and that a later
// write has proved.
//
// Break marks the child and tells the holder by its session's node, which the holder watches.
//
// MinHold leaves a child in the place of the holder's that is not ephemeral. Its process deletes it in time; if that is
// dead, so does whoever comes next, or any process that looks for such nodes once in ten minutes. They go by the clock
// of the leader, at whose change MinHold may be off by the difference of the servers' clocks.
//
// # Fences
//
// The epoch of a grant is the zxid of its child, plus a base: the time in µs at which the node b of the namespace was
// made, by the leader's clock. So fences go on growing when a namespace moves here from Redis or from a database. An
// election adds 72 minutes to them. When the namespace moves to another ensemble, where that node is made anew, they go on
// growing only if the namespace is older than that for each election that the old ensemble has ever had more. An
// ensemble that is restored from a snapshot repeats zxids: delete the nodes called b below the prefix while no process
// runs.
//
// # The client
//
// The client, github.com/go-zookeeper/zk, has defects that would break these promises. Each is fenced off:
//
//   - When a session has run out, it begins another without a word, and sends it the requests that were meant for the
//     first. So each session has a client of its own, which gets no connection after its end. This is why a connection
//     of the caller's cannot be used.
//   - It notices a silent server after two thirds of the session's time, and waits for ten times as long, or for ever,
//     for the answer to a handshake. So signs of life are sent and timed here, and connections that fail them are cut.
//   - It knows no contexts, and does not withdraw requests. Callers leave; what their requests bring is deleted.
//   - After a reconnect it may miss an event that a watch was set for: it asks for changes since the last answer, which
//     may be one of the new connection. So answers are held back until it has asked, and waiters look again.
//   - It cannot take a watch back. One is left behind where waiters give up, until the node that it is for changes. All
//     waiters of a session share it.
//   - It stands still for ever when a request cannot be written while it names its user or is closed. So it is told only
//     that the connection is closed.
//   - It takes the beginning of any answer for a length, and makes room for that. So an answer that is not one of
//     ZooKeeper ends the connection.
//   - It does not say for how long a session was agreed. That is read from the answer of the handshake.
//   - It looks up the names of servers once. Here they are looked up for each connection.
//   - It offers what it has seen last for as long as it lives, and is refused by servers that have lost their data. So a
//     session that was without a connection for two of its timeouts counts as over, and another client begins.
//
// What is not fenced: it allocates 3 MB for each connection. Where many connections are cut, the race detector may
// report its field lastZxid, which it reads at a reconnect while an answer may write it. That waiters look again on
// each connection makes up for what it may miss then.
//
// # Servers and rights
//
// ZooKeeper 3.5.1 or newer is needed, for container nodes. Config.Tick must be at least the tickTime of the servers; it
// cannot be asked for.
//
// With a user and a password the nodes belong to that user. Without them anybody who reaches the servers can change
// them.
package zkstore
