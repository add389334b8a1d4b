// Package redisstore keeps locks in Redis 6.2 or later, or Valkey, through go-redis.
//
// # Protocol
//
// Every step is one Lua script (lua/*.lua, each with its keys, arguments and results in its head), so that it happens
// entirely or not at all. An acquisition costs two commands, acquire and release, whether somebody else holds the lock
// or not:
//
//	         acquire.lua: free                          release.lua: nobody waits
//	(free) ─────────────────────────▶ (held by A) ───────────────────────────▶ (free)
//	                                      │  ▲
//	acquire.lua: busy → B joins the queue │  │ release.lua: B waits → B owns it, and is told so by a push
//	                                      ▼  │
//	                                   (held by A, B queued)
//
// Waiters stand in a queue in order of arrival. Whoever releases makes the first live waiter the owner in the same
// script, with a lease of the waiter's own TTL, and publishes the grant to the waiter's process. There is no moment at
// which the lock is free while somebody waits, hence no race, no polling and no barging.
//
// A push is only a hint. A waiter asks again when the lease that it waits for should be over, and whenever the
// subscription was renewed; then it finds out that it is the owner, or makes the first live waiter the owner of a lock
// whose lease ran out, or learns how long to wait further. With all pushes lost everything works, only slower.
//
// A process that waits shows itself to the queues it stands in every Config.Liveness/3; whoever is passed over because
// its process was paused finds itself out of the queue and joins it again.
//
// A waiter that dies just before its turn is granted the lock all the same, and those behind it get it one lease later.
// They may have heard of a longer lease than the dead one's: if the lock is handed on to a shorter, the next in line is
// told at once, and everybody else when its process shows itself.
//
// Asking again is acquire.lua once more: it is idempotent by lease id, and "poke" would be the same script without the
// line that joins the queue, which is just what one that was passed over needs.
//
// Calls of many goroutines share scripts: while four are in flight, those that come are gathered, and one script works
// on up to 32 leases, each with its own lock (in a cluster on one, as a script stays within one slot). A lone caller's
// call goes out as it is.
//
// # Fences
//
// Each grant has an epoch, the greater of the last epoch + 1 (the floor, kept for Config.Retention) and the server's
// clock in µs. So epochs grow as long as the data survives or the server's clock is not behind the last epoch.
//
// # What Redis does not guarantee
//
// Replication is asynchronous: a failover may forget the last leases. Their holders learn that at their next renewal, a
// third of the TTL later at most; until then a second holder is possible, and its fence is higher. Enforce the fence
// where that matters. With appendfsync everysec the same holds for a restart. The eviction policy must be noeviction:
// a lock is a key with an expiry, the first that other policies evict.
//
// # A request that comes late
//
// An acquire whose caller gives up is cancelled. The network may hold the request itself back for longer than the
// cancel, which takes another connection; then the lock, or a place in the queue, goes to a lease that nobody wants any
// more. So the cancel of an acquire that had no answer is repeated after 1, 5 and 21 s, and at once when a grant is
// pushed to it. A request that comes still later, or after its process has ended, leaves the lock taken until the TTL
// is over. Nothing worse happens: no holder loses its lock by that, and fences go on growing.
//
// # Clients
//
// A [Store] takes the clients for which it is known where a command goes: of one server, of Sentinels, of a Redis
// Cluster. The clients that lockrt.Open makes ask a cluster every 2 s who has which keys, and take a node for away that
// is silent for as long, so that locks are back about that time after a replica was promoted. What go-redis writes about
// them to its own logger, by default standard error, goes to the Logger of the Locker, unless the application has set a
// logger with redis.SetLogger: go-redis has one for all clients of a process. Two kinds of lines cannot be told apart and
// stay with that logger: what a client hears of its Sentinels in the background, such as a new master, and that of a
// cluster all nodes seem to be down.
//
// # Clocks
//
// Nobody's wall clock is compared with another's. A lease is counted on the server from the moment of its grant, and in
// the process on the monotonic clock from a moment before that. For a pushed grant that moment is derived from the
// server's clock at two points in time, so a step of the server's clock while somebody waits makes the estimate wrong
// by as much as the step: forwards, and by less than the TTL, it makes a holder believe in its lease too long.
//
// Redis counts expiries by its wall clock. A step forwards takes as much from every lease, which its holder learns at
// its next renewal; a step back keeps locks of the dead for as much longer. Let the clocks of the servers be slewed.
//
// # Keys and permissions
//
// A lock uses four keys, all with an expiry, in one slot of a cluster: namespace:{name} and the same with :queue,
// :waiters and :floor. Pushes go through channels that begin with lockgen:, whatever the namespace. This is all that a
// user of the server needs (for the namespace "lock"; without +scan it cannot list):
//
//	ACL SETUSER app on >PASSWORD resetkeys ~lock:{* resetchannels &lockgen:* -@all
//	  +eval +evalsha +exists +get +set +del +pexpire +pttl +hget +hset +hdel +hincrby
//	  +zadd +zrange +zrem +zscore +time +publish +subscribe +ping +scan
//
// With +info too, lockrt.Open looks whether the server evicts keys or is a replica. Without it Open is silent about the
// policy, and ACL LOG has an entry of that question.
//
// In a cluster the user needs +cluster|slots and +command too, and for a database other than 0 +select. A URL of Sentinels
// names the user of the servers as every URL does, and that of the Sentinels in its options, as in
// redis+sentinel://app:PASSWORD@host:26379/mymaster/0?sentinel_username=watcher&sentinel_password=PASSWORD; this needs
//
//	ACL SETUSER watcher on >PASSWORD resetchannels &* -@all
//	  +sentinel|get-master-addr-by-name +sentinel|sentinels +subscribe +ping
//
// From Redis 7.2
// on the client also introduces itself: +client|setinfo keeps the refusal of that, which harms nothing, out of ACL LOG.
package redisstore
