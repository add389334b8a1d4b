package testsync_test

import (
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
)

// With the race detector and several processors the process dies of it in most runs, unless Bubble sees to that.
func TestBubble_timersThatHaveRunOut(t *testing.T) {
	for range 2 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			testsync.Bubble(t, func(t *testing.T) {
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						for range 20_000 {
							select {
							case <-time.After(0):
							case <-t.Context().Done():
							}
						}
					})
				}
				all.Wait()
			})
		})
	}
}
