package waits

import (
	"context"
	"maps"
	"sync"
	"time"
)

// Together is for questions of which the answer is long and many want it at the same moment, such as who stands in a
// queue: in a crowd each would be told of all others. So one question about a key is under way at a time, and those who
// come meanwhile share the next one. Set the fields before the first Ask.
type Together[A any] struct {
	Start func(func())                         // runs a function that may take a while, without waiting for it
	Read  func(key string) (answer A, _ error) // asks; it ends within the time that a call may take
	Keep  func(A) bool                         // reports whether an answer is kept for those whom an older one contents
	Kept  time.Duration                        // for how long, at the most

	mu   sync.Mutex // guards what follows
	keys map[string]*questions[A]
	room int // how many keys there may be before those are left out that nobody asks for
}

// questions are those about one key.
type questions[A any] struct {
	now, next *shared[A] // under way, and the one after that; nil: none
	last      *shared[A] // the last one, if its answer was kept
}

type shared[A any] struct {
	asked  time.Time     // guarded by mu; zero: not yet
	done   chan struct{} // closed when it has an answer
	answer A
	err    error
}

// Ask returns what is true of a key at a time, or later, and when that was asked for. It blocks until there is an answer,
// or ctx ends.
func (t *Together[A]) Ask(ctx context.Context, key string, since time.Time) (answer A, asked time.Time, err error) {
	q := t.question(key, since)
	select {
	case <-q.done:
		return q.answer, q.asked, q.err
	case <-ctx.Done():
		return answer, asked, context.Cause(ctx)
	}
}

// Last returns the last answer about a key, if it was kept and is not older than Kept.
func (t *Together[A]) Last(key string) (answer A, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.keys[key]
	if of == nil || of.last == nil || time.Since(of.last.asked) > t.Kept {
		return answer, false
	}
	return of.last.answer, true
}

// question returns the one that tells what is true at a time, or later.
func (t *Together[A]) question(key string, since time.Time) *shared[A] {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.keys[key]
	if of == nil {
		of = t.open(key)
	}
	switch q := of.now; {
	case of.last != nil && !of.last.asked.Before(since):
		return of.last
	case q == nil:
		of.now = &shared[A]{done: make(chan struct{})}
		t.Start(func() { t.work(key, of) })
		return of.now
	case q.asked.IsZero() || !q.asked.Before(since):
		return q
	case of.next == nil:
		of.next = &shared[A]{done: make(chan struct{})}
	}
	return of.next
}

// open needs mu.
func (t *Together[A]) open(key string) *questions[A] {
	if t.keys == nil {
		t.keys = make(map[string]*questions[A])
	}
	of := new(questions[A])
	t.keys[key] = of
	if len(t.keys) > t.room {
		maps.DeleteFunc(t.keys, func(_ string, of *questions[A]) bool {
			return of.now == nil && of.last != nil && time.Since(of.last.asked) > t.Kept
		})
		t.room = 2*len(t.keys) + 16
	}
	return of
}

// work asks about a key until nobody wants to know more.
func (t *Together[A]) work(key string, of *questions[A]) {
	for more := true; more; {
		t.mu.Lock()
		q := of.now
		q.asked = time.Now()
		t.mu.Unlock()
		q.answer, q.err = t.Read(key)
		t.mu.Lock()
		of.now, of.next, of.last = of.next, nil, nil
		if q.err == nil && t.Keep(q.answer) {
			of.last = q
		}
		if more = of.now != nil; !more && of.last == nil {
			delete(t.keys, key)
		}
		t.mu.Unlock()
		close(q.done)
	}
}
