package zkstore

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
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
		err = l.makeIn(ctx, l.path, l.create(l.path, zk.FlagEphemeral))
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
