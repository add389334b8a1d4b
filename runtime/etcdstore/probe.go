package etcdstore

import (
	"context"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
)

// probeFirst and probeMost are the pauses between the reads that find out whether the servers answer.
const (
	probeFirst = 100 * time.Millisecond
	probeMost  = time.Second
)

// asks reports whether something waits for a sign of life of the servers, or has left unsent a short while ago: who comes
// next, in as much of a hurry, would leave as well if nobody found out how soon they answer by now. mu is held.
func (f *flow) asks() bool {
	waiting := 0
	for _, line := range f.line {
		waiting += len(line)
	}
	return f.late > 0 || waiting > 0 || time.Since(f.left) < callTime
}

// probeLocked has the servers asked if something waits for that; flow.mu is held.
func (s *session) probeLocked() {
	if f := &s.flow; !f.probing && f.asks() {
		f.probing = true
		s.calls.Start(s.probe)
	}
}

// probe asks the servers again and again, as long as something waits for an answer. What is asked costs them nothing but
// that they have applied all that came before. Another question does not wait for the one before it: that may be at a
// server that is silent.
func (s *session) probe() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var pause time.Duration
	for {
		pause = pace.Backoff(pause, probeFirst, probeMost)
		if !s.probesAfter(pace.Jitter(pause)) {
			return
		}
		s.calls.Start(func() { s.probeOnce(ctx) })
	}
}

// probesAfter waits, and reports whether something waits for an answer still. It ends the probing if not.
func (s *session) probesAfter(pause time.Duration) bool {
	f := &s.flow
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for over := false; ; {
		f.mu.Lock()
		asks, moved := f.asks(), f.nextMove()
		f.probing = asks
		f.mu.Unlock()
		if !asks || over {
			return asks
		}
		select {
		case <-moved:
		case <-timer.C:
			over = true
		case <-s.over:
			return false
		}
	}
}

func (s *session) probeOnce(ctx context.Context) {
	sent := time.Now()
	if s.signOfServers(ctx) != nil {
		return
	}
	f := &s.flow
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heard(sent)
	f.dispatch()
}
