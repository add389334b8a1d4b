package lockrt

import "sync"

// failures tells when calls begin to fail, fail in another way, and succeed again, so that each is logged once and not
// with every try.
type failures struct {
	mu   sync.Mutex // guards text
	text string     // of the last failure; "" after a success
}

// begin reports whether a failure is news.
func (f *failures) begin(err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.text
	f.text = err.Error()
	return f.text != was
}

// end reports whether a success is news.
func (f *failures) end() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.text
	f.text = ""
	return was != ""
}
