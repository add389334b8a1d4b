package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// outage is what does not answer of the store.
type outage struct {
	log *slog.Logger

	mu    sync.Mutex // guards what follows; nothing else is locked while it is held
	down  []failure  // why a part could not be asked last, by part
	since time.Time  // since when a part is down
}

// failure is why a part could not be asked, or not be written to: one that answers reads, and refuses writes as a full disk
// does, or a database that is locked or was made read-only, is down until it takes a write.
type failure struct {
	err   error // nil: it answers
	write bool
}

// parts returns how many parts did not answer last, and what one of them said. It needs mu.
func (o *outage) parts() (n int, err error) {
	for _, down := range o.down {
		if down.err != nil {
			n, err = n+1, down.err
		}
	}
	return n, err
}

// err is what Scheduler.Err says of the store.
func (o *outage) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch n, err := o.parts(); {
	case n > 0 && n == len(o.down):
		return fmt.Errorf("job store unavailable since %s: %w", o.since.UTC().Format(time.RFC3339), err)
	case n > 0:
		return fmt.Errorf("%d of %d parts of the job store unavailable since %s, the jobs in the others run: %w",
			n, len(o.down), o.since.UTC().Format(time.RFC3339), err)
	}
	return nil
}

// heard notes whether a part answered a write, or a read. The log hears of the first part that does not, and of when all do again.
func (o *outage) heard(part int, err error, write bool) {
	if isMoving(err) || errors.Is(err, ErrLocked) {
		return // it answers, and will know better later
	}
	now := time.Now()
	o.mu.Lock()
	if down := o.down[part]; down.write && !write {
		if write = true; err == nil {
			err = down.err
		}
	}
	before, _ := o.parts()
	o.down[part] = failure{err, write && err != nil}
	after, _ := o.parts()
	since := o.since
	if before == 0 && after > 0 {
		o.since = now
	}
	o.mu.Unlock()
	switch {
	case before == 0 && after > 0 && len(o.down) == 1:
		o.log.LogAttrs(context.Background(), slog.LevelError,
			"job store unavailable, no ticks are claimed; trying again", slog.Any("error", err))
	case before == 0 && after > 0:
		o.log.LogAttrs(context.Background(), slog.LevelError,
			"part of the job store unavailable, ticks of the jobs in it are not claimed; trying again",
			slog.Any("error", err), slog.Int("part", part))
	case before > 0 && after == 0:
		o.log.LogAttrs(context.Background(), slog.LevelInfo, "job store available again",
			slog.Duration("after", now.Sub(since)))
	}
}

// isMoving reports whether a cluster has put off a call because it moves what the call is about from one server to
// another.
func isMoving(err error) bool { return err != nil && strings.Contains(err.Error(), "TRYAGAIN") }
