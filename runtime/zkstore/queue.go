package zkstore

import (
	"context"
	"maps"
	"time"
)

// queue is what the servers said once of the children of a lock. Nobody changes it.
type queue struct {
	asked      time.Time
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

// questions are those for the queue of one lock. In a crowd each would list all others, at the same moment, and signs of
// life would wait behind that. So one question is under way at a time, and those who come meanwhile share the next one.
type questions struct {
	now, next *question // under way, and the one after that; nil: none
	last      *queue    // the last answer, if that was a crowd
}

type question struct {
	asked time.Time     // guarded by link.mu; zero: not yet
	done  chan struct{} // closed when it has an answer
	queue *queue
	err   error
}

// crowd is from how many contenders on the last answer is kept, for those who look again now and then.
const crowd = 16

// queue returns the queue of a lock as it was at a time, or later.
func (l *link) queue(ctx context.Context, lock string, since time.Time) (*queue, error) {
	if err := l.await(ctx); err != nil {
		return nil, err
	}
	q, last := l.question(lock, since)
	if last != nil {
		return last, nil
	}
	select {
	case <-q.done:
		return q.queue, q.err
	case <-l.gone:
		return nil, errExpired
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// question returns the one that will tell how a lock's queue is, or an answer that does.
func (l *link) question(lock string, since time.Time) (*question, *queue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.queues[lock]
	if of == nil {
		of = new(questions)
		l.queues[lock] = of
		if len(l.queues) > l.queueRoom {
			maps.DeleteFunc(l.queues, func(_ string, of *questions) bool {
				return of.now == nil && of.last != nil && time.Since(of.last.asked) > askAgain
			})
			l.queueRoom = 2*len(l.queues) + 16
		}
	}
	switch q := of.now; {
	case of.last != nil && !of.last.asked.Before(since):
		return nil, of.last
	case q == nil:
		of.now = &question{done: make(chan struct{})}
		l.s.calls.Start(func() { l.askFor(lock, of) })
		return of.now, nil
	case q.asked.IsZero() || !q.asked.Before(since):
		return q, nil
	case of.next == nil:
		of.next = &question{done: make(chan struct{})}
	}
	return of.next, nil
}

// askFor asks for the queue of a lock until nobody wants to know more.
func (l *link) askFor(lock string, of *questions) {
	for more := true; more; {
		l.mu.Lock()
		q := of.now
		q.asked = time.Now()
		l.mu.Unlock()
		q.queue, q.err = l.readQueue(lock, q.asked)
		l.mu.Lock()
		of.now, of.next, of.last = of.next, nil, nil
		if q.err == nil && len(q.queue.contenders) >= crowd {
			of.last = q.queue
		}
		if more = of.now != nil; !more && of.last == nil {
			delete(l.queues, lock)
		}
		l.mu.Unlock()
		close(q.done)
	}
}

// readQueue asks the servers. Its time is that of the callers: none has asked after the question was.
func (l *link) readQueue(lock string, asked time.Time) (*queue, error) {
	ctx, cancel := bounded(context.Background())
	defer cancel()
	names, err := l.children(ctx, lock)
	if err != nil {
		return nil, err
	}
	q := &queue{asked: asked}
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
