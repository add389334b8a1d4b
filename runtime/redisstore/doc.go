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
// Waiters stand in a queue in order of arrival. A release makes the first live waiter the owner in the same script,
// with a lease of the waiter's own TTL, and publishes the grant to the waiter's process. The lock is never free while
// somebody waits. So there is no race, no polling and no barging.
//
// A push is only a hint. A waiter asks again when the lease that it waits for should be over; then it finds out that it
// is the owner, or makes the first live waiter the owner of a lock whose lease ran out, or learns how long to wait
// further. With all pushes lost, or refused by an ACL, everything works, only slower: see below.
//
// Asking again is acquire.lua once more. It is idempotent by lease id, and lets a waiter that was passed over join the
// queue again. With another TTL it changes that of the place in the queue.
//
// Calls of many goroutines share scripts. While four are in flight, further calls are gathered, and one script handles
// up to 32 leases, each with its own lock. In a cluster it handles one, because a script stays within one slot. A
// single call is sent at once.
//
// # Signs of life
//
// A process that waits shows itself to the queues it stands in every Config.Liveness/3, a hundred queues in a script,
// and at once when its subscription was renewed. The answers tell what a push may have failed to tell: that one of its
// waiters owns the lock, that the server has forgotten a queue, that a lease in the way is shorter than was said. So a
// lost push costs a third of Liveness, 1 s by default.
//
// A waiter whose process has died may still be granted the lock. That lease lasts no longer than the process is known
// to live, or half a second. A live process extends it when it learns of it. So the waiters of a dead process together
// delay those behind them for one lease, or for Liveness and half a second, whichever is longer. A waiter that is
// passed over because its process was paused finds itself out of the queue and joins it again.
//
// # Readers and permits
//
// Readers share a lock, and so do permits, up to the number that each of them names. All kinds stand in one queue. At every
// change the head is admitted while it fits, and nobody overtakes it: adjacent readers go in together, a permit as soon as
// fewer than its own number are held. There is no counter: a set of leases with their ends on the server's clock says who
// has a share, so a second release changes nothing and the dead free theirs after a lease. Readers that hold the lock
// together share an epoch; permits have an epoch and a slot each.
//
// The scripts for exclusive leases do what they did before there were kinds, and say when they are not enough. Then the
// session asks the scripts for all kinds, and for ten seconds goes there at once for that lock. So where readers and
// writers meet for the first time, a call costs a second round trip.
//
// Nodes of the version before may work beside: a lock that is shared is a lease of somebody else for them, and a reader
// whom one of them hands a lock holds it alone. If such a node breaks a lock that is shared, it breaks all shares of it,
// and their processes learn that at their next renewal.
//
// # Break
//
// Break names the lease that it saw. break.lua marks its lock: the lease is not renewed any more, and its process is
// told. That ends the work and then gives the lease back, which hands the lock on; if it does not, the lock goes on at
// the end of the lease. After every renewal of its subscription a session asks about all leases that are held
// (held.lua), because it may not have been told. Force hands the lock on in the same step; the fence of a holder that
// lives is lower.
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
// where that matters. In a planned failover of Sentinels the old master goes on for about ten seconds: a session that
// Sentinels lead to it asks them every second where to renew, but others may be granted locks there;
// min-replicas-to-write stops it. With appendfsync everysec the same holds for a restart. The eviction policy must be
// noeviction: a lock is a key with an expiry, the first that other policies evict.
//
// # A request that comes late
//
// The network may hold a request back for longer than its caller waits, and longer than a cancel, which takes another
// connection. So every acquire carries the latest moment, on the server's clock, at which it may act: the end of its
// own time limit, 5 s at most. The session knows the server's clock from the last answer; its first request is
// preceded by TIME. An acquire without an answer is repeated by the session, each attempt with its own moment. A lease
// that is given up or released is cancelled once more when the call is over, and once more when the server's clock has
// passed the latest moment of its unanswered attempts: after that nothing can come any more. Until then, for 5 s at
// most, such a request may take a lock that nobody holds. One whose process has ended takes it for its TTL.
//
// # Bounds
//
// Every call returns when its context ends, and after 5 s without an answer, whatever the client does: client calls run
// on goroutines that the session keeps for them. A caller that waits without an end asks again when a sign of life has
// no answer, after Liveness/3 and a second at the most. A call that a server refuses because it is not ready (LOADING,
// CLUSTERDOWN, TRYAGAIN while a slot moves, and their like) is repeated. A release and an acquire that waits are
// repeated for as long as they may take, an acquire that does not wait three times. A call that its caller has left
// ends with the client's own time-outs, or at its deadline if the client heeds that (ContextTimeoutEnabled). The error
// says that the store did not answer; it is that of a context only if the caller's has ended.
//
// Renewals, signs of life and the subscription use connections of the session's own.
//
// # Clients
//
// A [Store] takes the clients for which it is known where a command goes: of one server, of Sentinels, of a Redis
// Cluster. The clients that lockrt.Open makes ask a cluster every 2 s who has which keys, and take a node for lost that
// is silent for as long. So locks are back about 2 s after a replica was promoted. What go-redis writes about them to
// its own logger, by default standard error, goes to the Logger of the Locker, unless the application has set a logger
// with redis.SetLogger: go-redis has one for all clients of a process. Two kinds of lines cannot be told apart and stay
// with that logger: what a client hears of its Sentinels in the background, such as a new master, and that of a cluster
// all nodes seem to be down.
//
// # Clocks
//
// No wall clock is compared with another. A lease is counted on the server from the moment of its grant, and in the
// process on the monotonic clock from a moment before that. For a pushed grant that moment is derived from the server's
// clock at two points in time, so a step of the server's clock while somebody waits makes the estimate wrong by as much
// as the step: forwards, and by less than the TTL, it makes a holder believe in its lease too long.
//
// Redis counts expiries by its wall clock. A step forwards takes as much from every lease, which its holder learns at
// its next renewal; a step back keeps locks of the dead for as much longer, and lets late requests act for as much
// longer. Let the clocks of the servers be slewed.
//
// # Keys and permissions
//
// A lock uses four keys, all with an expiry, in one slot of a cluster: namespace:{name} and the same with :queue,
// :waiters and :floor; where it is shared, also :holders and :held. The first is the lock, a string
//
//	<lease id> <epoch> <since, µs> <ttl, ms> <channel of its process> <node>
//
// with - as id and channel while MinHold keeps it for nobody, and 0 as the ttl of a lease that was broken and is not
// given back yet. What another program has written to a floor counts as no epoch. Out of memory, the server refuses
// new locks; held ones are renewed, kept, broken and handed on.
//
// Pushes go through channels that begin with lockgen:, whatever the namespace. This is all that a user of the server
// needs (for the namespace "lock"; without +scan it cannot list):
//
//	ACL SETUSER app on >PASSWORD resetkeys ~lock:{* resetchannels &lockgen:* -@all
//	  +eval +evalsha +exists +get +set +del +pexpire +pttl +hget +hset +hdel +hincrby
//	  +zadd +zrange +zrem +zscore +time +publish +subscribe +ping +scan
//
// Config.Replicas needs +wait besides. With +info too, lockrt.Open looks whether the server evicts keys or is a replica. Without it Open is silent about the
// policy, and ACL LOG has an entry of that question.
//
// In a cluster the user needs +cluster|slots and +command too, and for a database other than 0 +select. A URL of
// Sentinels names the user of the servers as every URL does, and that of the Sentinels in its options, as in
// redis+sentinel://app:PASSWORD@host:26379/mymaster/0?sentinel_username=watcher&sentinel_password=PASSWORD; this needs
//
//	ACL SETUSER watcher on >PASSWORD resetchannels &* -@all
//	  +sentinel|get-master-addr-by-name +sentinel|sentinels +subscribe +ping
//
// From Redis 7.2
// on the client also introduces itself: +client|setinfo keeps the refusal of that, which harms nothing, out of ACL LOG.
package redisstore
