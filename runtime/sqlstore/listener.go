package sqlstore

import (
	"context"
	"sync"
)

// Listener hears what is sent to a channel of PostgreSQL. Package pgxlisten has one.
type Listener interface {
	// Listen listens to a channel until ctx ends or the connection breaks, and returns why. up is called when it has begun,
	// got with each payload, one after another; neither blocks.
	Listen(ctx context.Context, channel string, up func(), got func(payload string)) error
}

var listeners struct {
	mu   sync.Mutex // guards open
	open func(url string) (Listener, error)
}

// RegisterListener says how stores that are opened by a URL of PostgreSQL get their Listener. It is for the init
// function of a package that has one.
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
