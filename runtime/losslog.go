package lockrt

import (
	"sync"
	"time"
)

// lossLog has the losses of leases logged, one after another, beside what ends them: a log may be slow, and other leases
// end meanwhile. The zero value is usable.
type lossLog struct {
	mu      sync.Mutex // guards what follows
	queue   []func()
	written chan struct{} // closed when all is logged; nil: it is
}

func (w *lossLog) add(entry func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, entry)
	if w.written == nil {
		w.written = make(chan struct{})
		go w.write()
	}
}

func (w *lossLog) write() {
	for queue := w.next(); queue != nil; queue = w.next() {
		for _, entry := range queue {
			entry()
		}
	}
}

// next returns what is to be logged, nil if that is nothing.
func (w *lossLog) next() []func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	queue := w.queue
	w.queue = nil
	if queue == nil {
		close(w.written)
		w.written = nil
	}
	return queue
}

// wait waits until all is logged, for callTime at the most: the log may be stuck, or wait itself for who calls this.
func (w *lossLog) wait() {
	w.mu.Lock()
	written := w.written
	w.mu.Unlock()
	if written == nil {
		return
	}
	patience := time.NewTimer(callTime)
	defer patience.Stop()
	select {
	case <-written:
	case <-patience.C:
	}
}
