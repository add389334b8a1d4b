package zkstore

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/percent"
)

// hear learns of leases that were broken, until the link is over.
func (s *session) hear(l *link) {
	var pause time.Duration
	watches := 0 // that the client has of the node, one for each connection since it changed
	for !l.isOver() && s.life.Err() == nil {
		changes, err := l.readTold(s.life)
		if err == nil {
			pause = 0
			if watches++; watches > mostWatches {
				l.freeWatches(s.life)
			}
			if l.untilChange(changes) {
				watches = 0
			}
			continue
		}
		pause = pace.Backoff(pause, 20*time.Millisecond, time.Second)
		pace.Sleep(s.life, pace.Jitter(pause))
	}
}

// readTold heeds what the session is told.
func (l *link) readTold(ctx context.Context) (changes, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	n, changes, err := l.watchNode(ctx, l.path)
	if err != nil {
		return changes, err
	}
	all := toldOf(n.data)
	if len(all) == 0 {
		return changes, nil
	}
	for _, t := range all {
		if id, err := percent.Unescape(t.ID); err == nil {
			l.s.loseBroken(id, errors.New(t.Reason))
		}
	}
	return changes, l.empty(ctx, n)
}

// empty takes what the session was told from its node. If there is more meanwhile it stays, and the watch says so.
func (l *link) empty(ctx context.Context, n node) error {
	_, _, err := repeat(ctx, l, func(c *zk.Conn) (*zk.Stat, error) { return c.Set(l.path, []byte{}, n.stat.Version) })
	if errors.Is(err, zk.ErrBadVersion) {
		return nil
	}
	return err
}

// untilChange waits for an event, which it reports, for another connection, or for the end of the link. On another connection the client
// sets its watches again, but after requests whose answers may make it forget what it has missed.
func (l *link) untilChange(c changes) (changed bool) {
	tick := time.NewTicker(watchLook)
	defer tick.Stop()
	for {
		select {
		case <-c.events:
			return true
		case <-l.gone:
			return false
		case <-l.s.life.Done():
			return false
		case <-tick.C:
			if l.connection() != c.up {
				return false
			}
		}
	}
}

// mostWatches is how many watches of the session's node the client may have. It sets another one on each connection, and
// cannot take one back.
const mostWatches = 16

// freeWatches changes the session's node, which ends all watches of it.
func (l *link) freeWatches(ctx context.Context) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if n, err := l.get(ctx, l.path); err == nil && len(n.data) == 0 {
		_ = l.empty(ctx, n) // else it is told something, which changes it, too
	}
}

// watchLook is how often it is seen to that a watch is one of the present connection.
const watchLook = 250 * time.Millisecond
