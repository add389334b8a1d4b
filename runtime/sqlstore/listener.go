package sqlstore

import (
	"context"
	"sync"
)

// Listener receives the notifications of a channel of PostgreSQL. Package pgxlisten has an implementation.
type Listener interface {
	// Listen listens to a channel until ctx ends or the connection breaks, and returns the reason. It calls up when it
	// listens, and got with each payload, one call at a time. Neither blocks.
	Listen(ctx context.Context, channel string, up func(), got func(payload string)) error
}

var listeners struct {
	mu   sync.Mutex // guards open
	open func(url string) (Listener, error)
}

// RegisterListener sets how stores that are opened by a PostgreSQL URL get their Listener. The init function of a
// package with a Listener calls it.
func RegisterListener(open func(url string) (Listener, error)) {
	listeners.mu.Lock()
	defer listeners.mu.Unlock()
	listeners.open = open
}

// listenerFor returns the registered Listener for a URL, nil if none is.
func listenerFor(url string) (Listener, error) {
	listeners.mu.Lock()
	defer listeners.mu.Unlock()
	if listeners.open == nil {
		return nil, nil
	}
	return listeners.open(url)
}
