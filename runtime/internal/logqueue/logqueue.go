// Package logqueue keeps a log from holding up those who write to it.
package logqueue

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// most is how many records may wait. There is one for each lease that is lost, and a store that forgets loses them all at
// once.
const most = 1 << 17

// Queue hands records to their handler one after another, on a goroutine that lives while there are any. Handlers may be
// slow, be stuck, or call those who log. The zero value is usable; all methods may be called concurrently.
type Queue struct {
	mu      sync.Mutex // guards what follows
	waiting []entry
	dropped int
	written chan struct{} // closed when all is handed on; nil: it is
}

type entry struct {
	handler slog.Handler
	ctx     context.Context
	record  slog.Record
}

// Logger returns a logger whose records go through the queue to that of the caller. What the handler returns is dropped,
// as by [slog.Logger].
func (q *Queue) Logger(to *slog.Logger) *slog.Logger { return slog.New(handler{q, to.Handler()}) }

// Wait waits until all is handed on, for patience at the most.
func (q *Queue) Wait(patience time.Duration) {
	q.mu.Lock()
	written := q.written
	q.mu.Unlock()
	if written == nil {
		return
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-written:
	case <-timer.C:
	}
}

func (q *Queue) add(e entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= most {
		q.dropped++
		return
	}
	q.waiting = append(q.waiting, e)
	if q.written == nil {
		q.written = make(chan struct{})
		go q.write()
	}
}

func (q *Queue) write() {
	ended := false
	defer func() {
		if !ended { // a handler has called runtime.Goexit
			go q.write()
		}
	}()
	for e, ok := q.next(); ok; e, ok = q.next() {
		_ = e.handler.Handle(e.ctx, e.record)
	}
	ended = true
}

// next returns what is to be handed on, if there is anything.
func (q *Queue) next() (e entry, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.waiting = nil
		close(q.written)
		q.written = nil
		return entry{}, false
	}
	e = q.waiting[0]
	q.waiting[0] = entry{}
	q.waiting = q.waiting[1:]
	if len(q.waiting) == 0 && q.dropped > 0 {
		r := slog.NewRecord(time.Now(), slog.LevelError, "the log was too slow, and records were dropped", 0)
		r.AddAttrs(slog.Int("records", q.dropped))
		q.waiting, q.dropped = append(q.waiting, entry{e.handler, context.Background(), r}), 0
	}
	return e, true
}

// handler adds to the queue what is for another one.
type handler struct {
	queue *Queue
	to    slog.Handler
}

// Enabled implements [slog.Handler].
func (h handler) Enabled(ctx context.Context, level slog.Level) bool { return h.to.Enabled(ctx, level) }

// Handle implements [slog.Handler].
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	h.queue.add(entry{h.to, ctx, r.Clone()})
	return nil
}

// WithAttrs implements [slog.Handler].
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.queue, h.to.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h handler) WithGroup(name string) slog.Handler { return handler{h.queue, h.to.WithGroup(name)} }
