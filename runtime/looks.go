package lockrt

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lockgen/lockgen/internal/timelimit"
)

// busyLookup bounds the question who is in the way, at the end of a wait.
const busyLookup = 50 * time.Millisecond

// errLookup says that the question had no answer in time.
var errLookup = errors.New("the store has not said who holds the lock")

// looks are questions who is in the way, by key. The waits of a crowd end together: one asks, and all hear the answer.
type looks struct {
	mu    sync.Mutex
	asked map[string]*look
}

type look struct {
	done chan struct{} // closed when the answer is there
	info LockInfo
	err  error
}

// holder is Locker.Holder for all who ask at the same time. It takes busyLookup at the most.
func (k *looks) holder(l *Locker, key string) (LockInfo, error) {
	ctx, cancel := context.WithTimeout(l.closing, busyLookup)
	defer cancel()
	k.mu.Lock()
	if k.asked == nil {
		k.asked = make(map[string]*look)
	}
	q, there := k.asked[key]
	if !there {
		q = &look{done: make(chan struct{}), err: errLookup}
		k.asked[key] = q
	}
	k.mu.Unlock()
	if there {
		select {
		case <-q.done:
			return q.info, q.err
		case <-ctx.Done():
			return LockInfo{}, errLookup
		}
	}
	defer func() { // also after a panic of the store
		k.mu.Lock()
		delete(k.asked, key)
		k.mu.Unlock()
		close(q.done)
	}()
	info, err := l.Holder(ctx, key)
	if err == nil || errors.Is(err, ErrNotHeld) || timelimit.Ended(ctx) == nil {
		q.info, q.err = info, err
	}
	return q.info, q.err
}
