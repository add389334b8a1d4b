package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// etcd applies writes in the order in which it has got them, those too whose callers have left. A write that is sent again
// while the first one is still queued makes a slow server slower: there is more and more to do before anything is done that
// somebody waits for, until the server refuses all writes because of the length of its queue. So a write is sent again only
// when a request that was sent after it has had an answer. And a session bounds how many writes it has under way and
// queued: if they are late there may be few, and with each answer one more. Late is what the session's own signs of life
// cannot bear, which wait behind all that: a crowd must not cost the holders in its process their locks.

const (
	// mostWrites is how many writes of a session may be under way or queued at the servers.
	mostWrites = 64
	// firstWrites is how many there may be at first: a crowd may be the first to ask a server that is slow already.
	firstWrites = 8
	// fewWrites is how many of them there may be when they are late.
	fewWrites = 4
	// aliveShare is the part of the length of a lease of etcd that an answer may take, or leastBearable: with less than that,
	// machines that are merely busy would have few writes. A renewal waits for one, at first for a sixth of a TTL, which may
	// be little more than half of that length; a sign of life is two, one after another.
	aliveShare    = 24
	leastBearable = 250 * time.Millisecond
)

// rank says which of the writes that wait goes first.
type rank int

const (
	ending     rank = iota // it ends a lease or lets somebody in, or nothing goes without it
	continuing             // it goes on with a request for a lock
	beginning              // it begins one
	ranks
)

// flow says when a session may write.
type flow struct {
	mu       sync.Mutex    // guards what follows
	queued   []*sending    // what may be queued at the servers, in the order of its sending
	room     int           // how many there may be
	narrowed time.Time     // when room was last made smaller
	answered time.Time     // when the latest request was sent that has had an answer
	delay    time.Duration // of that answer
	refused  time.Time     // no write goes before a request has had an answer that was sent later
	why      error         // of the last write that had no answer
	line     [ranks][]*sending
	left     time.Time     // when somebody went unsent last; zero: an answer has come since
	late     int           // writes that are late, and wait to be known as lost
	probing  bool          // somebody asks the servers meanwhile
	moved    chan struct{} // closed when answered changes; nil: nobody waits for that
}

// sending is a write.
type sending struct {
	at    time.Time     // when it was sent; zero: it waits
	ready chan struct{} // closed when it may be; nil if it has not waited
	queue int           // how many were queued then, with this one
	until time.Time     // then nobody waits for its answer any more, or probably nobody; zero: it is of use all the same
	sure  bool          // nobody does
}

func newFlow() flow { return flow{room: firstWrites} }

// unsentError is that of a write that was not sent and will not be.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

func isUnsent(err error) bool {
	_, is := errors.AsType[unsentError](err)
	return is
}

// unsent is the error of a write whose time is over before it was sent. why is what became of those before it.
func unsent(over, why error) error {
	if why == nil || isContext(why) {
		return unsentError{fmt.Errorf("writes from before are still queued there: %w", over)}
	}
	if isUnavailable(why) {
		return unsentError{why}
	}
	return unsentError{fmt.Errorf("%w: %w", why, over)}
}

// unsentNow is unsent for one whose writes are others' to send.
func (s *session) unsentNow(ctx context.Context) error {
	over := ctx.Err()
	s.flow.mu.Lock()
	defer s.flow.mu.Unlock()
	return unsent(over, s.flow.why)
}

// enter waits until a write may go, or until ctx ends. The write has to go then, and exit to be called. Methods of ctx may
// be the caller's own, and take long: none is called while mu is held.
func (s *session) enter(ctx context.Context, r rank) (*sending, error) {
	f, w, over := &s.flow, new(sending), ctx.Err()
	if r == beginning {
		w.until = time.Now().Add(callTime)
		if end, ok := ctx.Deadline(); ok && end.Before(w.until) {
			w.until, w.sure = end, true
		}
	}
	f.mu.Lock()
	if over != nil {
		defer f.mu.Unlock()
		if f.why != nil {
			return nil, unsent(over, f.why)
		}
		return nil, unsentError{over}
	}
	if f.open(r) && f.inTime(w) {
		f.send(w)
		f.mu.Unlock()
		return w, nil
	}
	w.ready = make(chan struct{})
	f.line[r] = append(f.line[r], w)
	f.dispatch() // those before it may have too little time
	s.probeLocked()
	f.mu.Unlock()
	select {
	case <-w.ready:
		return w, nil
	case <-ctx.Done():
		over = ctx.Err()
	case <-s.over:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.at.IsZero() {
		f.line[r], f.left = without(f.line[r], w), time.Now()
	} else { // in the same moment
		f.queued = without(f.queued, w)
		f.dispatch()
	}
	if over == nil {
		return nil, unsentError{lockrt.ErrClosed}
	}
	return nil, unsent(over, f.why)
}

// exit takes what became of a write that was sent.
func (s *session) exit(w *sending, err error) {
	f, took, bearable := &s.flow, time.Since(w.at), leastBearable
	if took*(mostWrites+1) > leastBearable { // else it is bearable behind as many as there may be
		bearable = s.bearable()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
		f.adapt(w, took, bearable)
		f.heard(w.at)
		f.queued = without(f.queued, w)
	case mayHaveRun(err) && !isFull(err):
		// It is queued until something has had an answer that was sent later.
		if f.why == nil || !isContext(err) {
			f.why = err
		}
	default:
		if isCrowded(err) {
			f.why, f.refused = err, time.Now()
			f.narrow(w.at)
		}
		f.queued = without(f.queued, w)
	}
	f.dispatch()
	s.probeLocked()
}

// back is exit for a write that is not sent after all.
func (s *session) back(w *sending) {
	f := &s.flow
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queued = without(f.queued, w)
	f.dispatch()
}

func without(all []*sending, w *sending) []*sending {
	if i := slices.Index(all, w); i >= 0 {
		return slices.Delete(all, i, i+1)
	}
	return all
}

// lost returns when it is known that a write is not queued any more which was sent at some time, when ctx ends, or when
// nobody finds that out any more: then another server is worth a try.
func (s *session) lost(ctx context.Context, sent time.Time) {
	f := &s.flow
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late++
	defer func() { f.late-- }()
	for first := true; !f.answered.After(sent) && ctx.Err() == nil; first = false {
		if first {
			f.narrow(sent)
			s.probeLocked()
		}
		moved := f.nextMove()
		f.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
		case <-s.over:
			f.mu.Lock()
			return
		}
		f.mu.Lock()
	}
}

// heard is for an answer to a request that was sent at some time; mu is held.
func (f *flow) heard(sent time.Time) {
	if !sent.After(f.answered) {
		return
	}
	f.answered, f.why, f.delay, f.left = sent, nil, time.Since(sent), time.Time{}
	f.queued = slices.DeleteFunc(f.queued, func(w *sending) bool { return sent.After(w.at) })
	if sent.After(f.refused) {
		f.refused = time.Time{}
	}
	if f.moved != nil {
		close(f.moved)
		f.moved = nil
	}
}

// nextMove returns a channel that is closed when an answer comes to a request that was sent later; mu is held.
func (f *flow) nextMove() <-chan struct{} {
	if f.moved == nil {
		f.moved = make(chan struct{})
	}
	return f.moved
}

// adapt makes room for one more write if one had its answer in time, and so would one behind as many as there is room for:
// when the first of them is late it is too late for those that are queued. mu is held.
func (f *flow) adapt(w *sending, took, bearable time.Duration) {
	switch {
	case took > bearable:
		f.narrow(w.at)
	case took*time.Duration(f.room+1) <= bearable*time.Duration(w.queue):
		f.room = min(f.room+1, mostWrites)
	}
}

// narrow leaves room for few writes, because of one that was sent at some time; mu is held. Those that were sent before
// are the same congestion.
func (f *flow) narrow(sent time.Time) {
	if sent.After(f.narrowed) {
		f.room, f.narrowed = fewWrites, time.Now()
	}
}

// open reports whether there is room for one more write of a rank, and none waits that goes first; mu is held.
func (f *flow) open(r rank) bool {
	for _, line := range f.line[:r+1] {
		if len(line) > 0 {
			return false
		}
	}
	return f.hasRoom()
}

func (f *flow) hasRoom() bool { return f.refused.IsZero() && len(f.queued) < f.room }

// inTime reports whether a write is likely to have its answer while somebody waits for it. What nobody waits for has to be
// taken back, and that would be most of what the servers have to do.
func (f *flow) inTime(w *sending) bool {
	if w.until.IsZero() {
		return true
	}
	left := time.Until(w.until)
	return left > f.delay || left <= 0 && !w.sure
}

// send takes note of a write that is sent; mu is held.
func (f *flow) send(w *sending) {
	w.at = time.Now()
	f.queued = append(f.queued, w)
	w.queue = len(f.queued)
}

// bearable is how late answers may be, because of what this session itself has sent. Its signs of life wait as long.
func (s *session) bearable() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := attemptTime
	for _, c := range s.every {
		if c.users+c.keeping > 0 {
			most = min(most, max(c.length/aliveShare, leastBearable))
		}
	}
	return most
}

// late returns how late answers are.
func (s *session) late() time.Duration {
	s.flow.mu.Lock()
	defer s.flow.mu.Unlock()
	return s.flow.delay
}

// tight reports whether writes were late a short while ago.
func (s *session) tight() bool {
	s.flow.mu.Lock()
	defer s.flow.mu.Unlock()
	return !s.flow.narrowed.IsZero() && s.flow.room < mostWrites
}

// dispatch lets writes go for which there is room; mu is held.
func (f *flow) dispatch() {
	for r, line := range f.line {
		late := line[:0]
		for len(line) > 0 && f.hasRoom() {
			w := line[0]
			line = line[1:]
			if !f.inTime(w) {
				late = append(late, w)
				continue
			}
			f.send(w)
			close(w.ready)
		}
		if f.line[r] = line; len(late) > 0 {
			f.line[r] = append(late, line...)
		}
	}
}
