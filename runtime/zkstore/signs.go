package zkstore

import (
	"slices"
	"time"
)

// signs are the signs of life of one session of ZooKeeper. They tell how long its leader will keep it at the least.
//
// The leader counts the timeout from the last request of which it knows. A server that follows it tells it of requests
// once in half a tick, so what a client has sent less than a tick ago may be unknown when that server dies. A server
// that is cut off from the leader goes on answering reads; only a write proves that it was not.
//
// So certain is what was sent a tick before a write that was answered, on the same connection. A handshake is certain
// at once: a server asks the leader about it, but it needs a write after it as well.
type signs struct {
	timeout, tick time.Duration

	kept   time.Time   // certain since an earlier connection
	strong time.Time   // the handshake of this connection
	soft   []time.Time // when requests were sent on it that were answered, in order
	write  time.Time   // when the last write was sent that was answered
}

// shaken counts a handshake that began at a time. The first one makes the session, which is a write.
func (s *signs) shaken(at time.Time) {
	if s.strong.IsZero() {
		s.write = at
	}
	s.kept, s.strong, s.soft = s.certain(), at, nil
}

// touched counts a request that was answered.
func (s *signs) touched(sent time.Time) {
	i := len(s.soft)
	for i > 0 && s.soft[i-1].After(sent) {
		i--
	}
	if i > 0 && sent.Sub(s.soft[i-1]) < s.tick/16 {
		return // the one before does as well
	}
	s.soft = slices.Insert(s.soft, i, sent)
	s.kept = s.certain()
	old := 0
	for old+1 < len(s.soft) && !s.soft[old+1].After(sent.Add(-s.tick)) {
		old++ // a write from here on makes a later one certain
	}
	s.soft = s.soft[old:]
}

// wrote counts a write that was answered.
func (s *signs) wrote(sent time.Time) {
	s.touched(sent)
	if sent.After(s.write) {
		s.write = sent
	}
}

// certain is the last time from which the leader is certain to count the timeout.
func (s *signs) certain() time.Time {
	last := s.kept
	if s.strong.After(last) && !s.strong.After(s.write) {
		last = s.strong
	}
	for _, at := range s.soft {
		if at.After(last) && !at.After(s.write.Add(-s.tick)) {
			last = at
		}
	}
	return last
}

// latest is the last moment at which a lease may begin so that the session outlives it.
func (s *signs) latest(ttl time.Duration) time.Time { return s.certain().Add(s.timeout - ttl) }

// beat is the time between two signs of life that are sent without any other reason.
func (s *signs) beat() time.Duration { return min(s.timeout/10, time.Second) }

// maxTTL is the longest lease: what remains after a tick, and after two beats.
func (s *signs) maxTTL() time.Duration { return max(s.timeout-s.tick-2*s.beat(), s.timeout/8) }
