package jobs

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"
)

const (
	// clocksApart is by how much the clocks of two parts of the store are to differ for certain before the log says so,
	// and clocksTogether up to which difference they agree again.
	clocksApart    = 500 * time.Millisecond
	clocksTogether = 250 * time.Millisecond
)

// estimate returns the time of the part at a moment of the local clock, and how wrong that may be; false before the
// first answer.
func (c *clock) estimate(local time.Time) (store time.Time, within time.Duration, ok bool) {
	c.mu.Lock()
	within, ok = c.within, !c.store.IsZero() && !c.deaf
	c.mu.Unlock()
	return c.storeAt(local), within, ok
}

// clockWatch compares the clocks of the parts of the store.
type clockWatch struct {
	parts []*part
	store Store
	log   *slog.Logger

	mu    sync.Mutex // guards what follows; nothing else is locked while it is held
	apart bool       // they differ
}

// spread returns the fastest and the slowest of the parts' clocks, as far as they are known, and how far they are
// apart, for certain and probably.
func (w *clockWatch) spread() (fastest, slowest *part, sure, probable time.Duration) {
	var first, last time.Time // the estimates of slowest and fastest
	var unsure time.Duration
	local := time.Now()
	for _, p := range w.parts {
		store, within, ok := p.clock.estimate(local)
		if !ok {
			continue
		}
		if unsure = max(unsure, within); slowest == nil || store.Before(first) {
			slowest, first = p, store
		}
		if fastest == nil || store.After(last) {
			fastest, last = p, store
		}
	}
	probable = last.Sub(first)
	return fastest, slowest, probable - 2*unsure, probable
}

// compare tells the log when the clocks of the store's parts have gone apart, and when they agree again.
func (w *clockWatch) compare(ctx context.Context) {
	if len(w.parts) == 1 {
		return
	}
	fastest, slowest, sure, probable := w.spread()
	w.mu.Lock()
	before := w.apart
	switch {
	case sure >= clocksApart:
		w.apart = true
	case probable <= clocksTogether:
		w.apart = false
	}
	after := w.apart
	w.mu.Unlock()
	switch {
	case after && !before:
		w.log.LogAttrs(ctx, slog.LevelWarn,
			"clocks of the job store's servers differ; each job goes by that of its own server, set them right",
			slog.Duration("by", probable.Round(time.Millisecond)),
			slog.String("fast", w.whereIs(ctx, fastest)), slog.String("slow", w.whereIs(ctx, slowest)))
	case before && !after:
		w.log.LogAttrs(ctx, slog.LevelInfo, "clocks of the job store's servers agree again")
	}
}

// Locator is a [Store] that can name the server of a part. The name is for people; "" means that it is not known.
type Locator interface {
	Locate(ctx context.Context, part int) string
}

// whereIs names the server that a part is on, for people.
func (w *clockWatch) whereIs(ctx context.Context, p *part) string {
	if store, ok := w.store.(Locator); ok {
		if server := store.Locate(ctx, p.n); server != "" {
			return server
		}
	}
	return "part " + strconv.Itoa(p.n)
}
