package testlocks

import "time"

// Peer is a Server whose lines to the other servers can be harmed. Clients go past them.
type Peer interface {
	Server
	// Part parts it from all others, Join undoes that: what was held back arrives late.
	Part()
	Join()
	// Slow makes all that it and the others send each other wait.
	Slow(time.Duration)
}

// peerHarms are those of servers that are Peers: parted from each other, and on slow disks, which is as if a server
// stood still again and again, and answered the others late.
var peerHarms = []harm{
	{"leader parted", 2, func(r *run, _ *node, _, long time.Duration) { parted(r.leader(), long) }},
	{"server parted", 1, func(r *run, _ *node, _, long time.Duration) { parted(r.someServer(), long) }},
	{"leader parted for a moment", 1, func(r *run, _ *node, short, _ time.Duration) { parted(r.leader(), short) }},
	{"leader's disk slow", 2, func(r *run, _ *node, _, long time.Duration) { r.slowDisk(r.leader(), long) }},
	{"server's disk slow", 1, func(r *run, _ *node, _, long time.Duration) { r.slowDisk(r.someServer(), long) }},
	{"leader's lines slow", 1, func(r *run, _ *node, short, long time.Duration) {
		s := r.leader().(Peer)
		s.Slow(short)
		time.Sleep(long)
		s.Slow(0)
	}},
}

func parted(s Server, d time.Duration) {
	s.(Peer).Part()
	time.Sleep(d)
	s.(Peer).Join()
}

// slowDisk stops a server for 50 to 300 ms, again and again, as one that waits for its disk.
func (r *run) slowDisk(s Server, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		r.stopped(s, 50*time.Millisecond+upTo(r.rand, 250*time.Millisecond))
		time.Sleep(upTo(r.rand, 50*time.Millisecond))
	}
}
