package main

import (
	"context"
	"os"
	"sync"
)

// stopper turns signals into the ends of two contexts: the first signal ends
// observing, so that the nodes drain; the second ends all waiting as well.
type stopper struct {
	observing  context.Context
	waiting    context.Context
	endWaiting context.CancelFunc
	running    sync.WaitGroup
}

func newStopper(signals <-chan os.Signal) *stopper {
	waiting, endWaiting := context.WithCancel(context.Background())
	observing, endObserving := context.WithCancel(waiting)
	s := &stopper{observing: observing, waiting: waiting, endWaiting: endWaiting}
	s.running.Go(func() {
		for _, end := range []context.CancelFunc{endObserving, endWaiting} {
			select {
			case <-signals:
				end()
			case <-waiting.Done():
				return
			}
		}
	})
	return s
}

func (s *stopper) close() {
	s.endWaiting()
	s.running.Wait()
}
