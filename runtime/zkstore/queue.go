package zkstore

import (
	"context"
	"time"

	"github.com/lockgen/lockgen/runtime/internal/waits"
)

// queue is what the servers said once of the children of a lock. Nobody changes it.
type queue struct {
	contenders []child          // in order
	ranks      map[string][]int // of the contenders with an ID; most have one
	kept       []string         // names of nodes that keep the lock
}

// rank is that of a contender, by its ID and its name.
func (q *queue) rank(id, name string) (rank int, there bool) {
	for _, i := range q.ranks[id] {
		if q.contenders[i].name == name {
			return i, true
		}
	}
	return 0, false
}

// crowd is from how many contenders on a queue is kept, for those who look again now and then.
const crowd = 16

// askTogether prepares the queues of locks, by the paths of these. Signs of life would wait behind what a crowd is told.
func (l *link) askTogether() {
	l.queues = &waits.Together[*queue]{
		Start: l.s.calls.Start, Read: l.readQueue, Kept: askAgain,
		Keep: func(q *queue) bool { return len(q.contenders) >= crowd },
	}
}

// queue returns the queue of a lock as it was at a time, or later, and when it was asked for.
func (l *link) queue(ctx context.Context, lock string, since time.Time) (*queue, time.Time, error) {
	if err := l.await(ctx); err != nil {
		return nil, time.Time{}, err
	}
	return l.queues.Ask(ctx, lock, since)
}

// readQueue asks the servers. Its time is that of the callers: none has asked after it did.
func (l *link) readQueue(lock string) (*queue, error) {
	ctx, cancel := bounded(context.Background())
	defer cancel()
	names, err := l.children(ctx, lock)
	if err != nil {
		return nil, err
	}
	q := new(queue)
	q.contenders, q.kept = contendersOf(names)
	if q.contenders, err = l.order(ctx, lock, q.contenders); err != nil {
		return nil, err
	}
	q.ranks = make(map[string][]int, len(q.contenders))
	for i, c := range q.contenders {
		q.ranks[c.id] = append(q.ranks[c.id], i)
	}
	return q, nil
}
