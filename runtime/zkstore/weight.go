package zkstore

import (
	"fmt"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// mostWeight is how long the names of all contenders of one session of ZooKeeper may be together. When the session runs
// out, the leader writes them all into one change. One that is longer than jute.maxbuffer, twice in newer versions, can
// be written and not be read: no server takes it, none starts any more, and the data has to be mended by hand
// (ZOOKEEPER-4306).
const mostWeight = 1000 * 1000

// nameEnd is what the number at the end of a contender's name takes, and its length in a change.
const nameEnd = 10 + 4

// weigh is what a contender of a request adds to the weight of the session.
func (s *session) weigh(key, id string) int { return len(s.space.newborn(key, id)) + nameEnd }

func (p *place) weight() int { return len(p.path) + nameEnd }

// load counts a request in while it is under way. The caller unloads it. The error says that there is no room.
func (s *session) load(req lockrt.Request) (unload func(), err error) {
	weight := s.weigh(req.Key, req.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.weight+weight > mostWeight {
		return nil, fmt.Errorf("this Locker holds and waits for so many locks in ZooKeeper that their names take %d bytes, "+
			"and %d are the most for one session, as its end has to fit into one change: use another Locker for more, or "+
			"shorter keys", s.weight, mostWeight)
	}
	s.weight += weight
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.weight -= weight
	}, nil
}
