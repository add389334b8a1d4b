package zkstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/percent"
)

// beat gives signs of life until the link is over. One is a write, through the leader, while somebody holds a lock or
// waits; else it is a read. A server that says nothing is left for another: the client waits for two thirds of the
// session's time.
func (l *link) beat(ctx context.Context) {
	l.mu.Lock()
	pause, limit := l.signs.beat(), min(answerTime, max(l.signs.timeout/4, answerTime/10))
	l.mu.Unlock()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.gone:
			return
		case <-timer.C:
		}
		limited, cancel := context.WithTimeout(ctx, limit)
		began := time.Now()
		err := l.sign(limited, l.s.isUsed())
		cancel()
		if isContext(err) && ctx.Err() == nil && !errors.Is(err, errNoServer) {
			l.cut()
		}
		failing = l.logBeat(failing, began, err)
		timer.Reset(max(pause-time.Since(began), pause/10))
	}
}

// sign gives one sign of life.
func (l *link) sign(ctx context.Context, write bool) error {
	if !write {
		_, err := l.stat(ctx, l.path)
		return err
	}
	_, _, err := l.multi(ctx, &zk.CheckVersionRequest{Path: l.path, Version: -1})
	if errors.Is(err, zk.ErrNoNode) { // somebody has deleted it
		err = l.makeIn(ctx, l.path, zk.FlagEphemeral)
	}
	return err
}

// logBeat logs when the servers begin not to hear of this process, and when they do again.
func (l *link) logBeat(failing bool, began time.Time, err error) bool {
	switch {
	case l.isOver():
		return failing
	case err != nil && !failing:
		err = explain(context.Background(), began, err)
		l.s.Logger.Warn("ZooKeeper does not answer; locks may be lost", "error", err)
	case err == nil && failing:
		l.s.Logger.Info("ZooKeeper answers again")
	}
	return err != nil
}

// hear learns of leases that were broken, until the link is over.
func (s *session) hear(l *link) {
	var pause time.Duration
	for !l.isOver() && s.life.Err() == nil {
		changes, err := l.readTold(s.life)
		if err == nil {
			pause = 0
			l.untilChange(changes)
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
	var all []told
	if len(n.data) == 0 || json.Unmarshal(n.data, &all) != nil {
		return changes, nil
	}
	for _, t := range all {
		if id, err := percent.Unescape(t.ID); err == nil {
			l.s.loseBroken(id, errors.New(t.Reason))
		}
	}
	// If there is more meanwhile it stays, and the watch says so.
	_, _, err = repeat(ctx, l, func(c *zk.Conn) (*zk.Stat, error) { return c.Set(l.path, []byte{}, n.stat.Version) })
	if errors.Is(err, zk.ErrBadVersion) {
		err = nil
	}
	return changes, err
}

// untilChange waits for an event, for another connection, or for the end of the link. On another connection the client
// sets its watches again, but after requests whose answers may make it forget what it has missed.
func (l *link) untilChange(c changes) {
	tick := time.NewTicker(watchLook)
	defer tick.Stop()
	for {
		select {
		case <-c.events:
			return
		case <-l.gone:
			return
		case <-l.s.life.Done():
			return
		case <-tick.C:
			if l.connection() != c.up {
				return
			}
		}
	}
}

// watchLook is how often it is seen to that a watch is one of the present connection.
const watchLook = 250 * time.Millisecond
