package waits

import (
	"context"
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
}

// slow is for how long the next question waits for the answer to one.
const slow = 500 * time.Millisecond

// questions are those about one key.
type questions[A any] struct {
	now, next *shared[A]  // the latest that is under way, and the one after that; nil: none
	last      *shared[A]  // the latest answer, if it was kept
	forget    *time.Timer // drops last; nil: none was kept yet
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

// Last returns the last answer about a key, if it is kept.
func (t *Together[A]) Last(key string) (answer A, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.keys[key]
	if of == nil || of.last == nil {
		return answer, false
	}
	return of.last.answer, true
}

// question returns the one that tells what is true at a time, or later. A clock may say the same twice, so it is later.
func (t *Together[A]) question(key string, since time.Time) *shared[A] {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.keys[key]
	if of == nil {
		if t.keys == nil {
			t.keys = make(map[string]*questions[A])
		}
		of = new(questions[A])
		t.keys[key] = of
	}
	q := of.now
	switch {
	case of.last != nil && of.last.asked.After(since):
		return of.last
	case q != nil && (q.asked.IsZero() || q.asked.After(since)):
		return q
	case of.next != nil:
		return of.next
	}
	next := &shared[A]{done: make(chan struct{})}
	if of.next = next; q == nil {
		t.begin(key, of)
		return next
	}
	time.AfterFunc(time.Until(q.asked.Add(slow)), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if of.next == next {
			t.begin(key, of)
		}
	})
	return next
}

// begin asks the next question; mu is held.
func (t *Together[A]) begin(key string, of *questions[A]) {
	q := of.next
	of.now, of.next = q, nil
	t.Start(func() { t.read(key, of, q) })
}

func (t *Together[A]) read(key string, of *questions[A], q *shared[A]) {
	t.mu.Lock()
	q.asked = time.Now()
	t.mu.Unlock()
	q.answer, q.err = t.Read(key)
	defer close(q.done)
	t.mu.Lock()
	defer t.mu.Unlock()
	if of.last == nil || of.last.asked.Before(q.asked) {
		of.last = nil
		if q.err == nil && t.Keep(q.answer) {
			t.keep(key, of, q)
		}
	}
	if of.now != q {
		return
	}
	if of.now = nil; of.next != nil {
		t.begin(key, of)
	} else if of.last == nil {
		t.drop(key, of)
	}
}

// keep has an answer dropped when it is too old; mu is held.
func (t *Together[A]) keep(key string, of *questions[A], q *shared[A]) {
	of.last = q
	if of.forget != nil {
		of.forget.Reset(t.Kept)
		return
	}
	of.forget = time.AfterFunc(t.Kept, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if of.last = nil; of.now == nil {
			t.drop(key, of)
		}
	})
}

// drop needs mu.
func (t *Together[A]) drop(key string, of *questions[A]) {
	if t.keys[key] == of {
		delete(t.keys, key)
	}
}
