package testetcd

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"
)

// lines are the ways between the members of a cluster. The members know each other by addresses that lead nowhere, and
// reach them through an HTTP proxy, one for each of them: so the proxy knows who asks and whom. Clients go past it.
type lines struct {
	transport *http.Transport // from the proxies to the members
	proxies   []*http.Server
	targets   map[string]int // members by the host by which they are known
	listen    []string       // where they listen
	between   [][]*line      // from and to
}

// publicHost is the address by which the others know a member. It is one for documentation, which nobody has: requests
// to the machine itself would not go through a proxy.
func publicHost(member int) string { return fmt.Sprintf("192.0.2.%d:2380", member+1) }

// newLines starts the proxies. It returns their URLs.
func newLines(listen []string) (l *lines, urls []string, err error) {
	l = &lines{transport: &http.Transport{}, targets: make(map[string]int), listen: listen}
	for from := range listen {
		l.targets[publicHost(from)] = from
		l.between = append(l.between, make([]*line, len(listen)))
		for to := range listen {
			l.between[from][to] = newLine()
		}
	}
	for from := range listen {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			l.close()
			return nil, nil, err
		}
		server := &http.Server{Handler: l.proxy(from), ReadHeaderTimeout: time.Minute}
		go func() { _ = server.Serve(listener) }() // it ends when the server is closed
		l.proxies, urls = append(l.proxies, server), append(urls, "http://"+listener.Addr().String())
	}
	return l, urls, nil
}

func (l *lines) close() {
	for _, server := range l.proxies {
		_ = server.Close()
	}
	l.transport.CloseIdleConnections()
}

// proxy passes on what a member sends, and what it is answered. Each part waits at the line.
func (l *lines) proxy(from int) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite:       func(*httputil.ProxyRequest) {}, // it is addressed in full
		FlushInterval: -1,                              // messages of Raft are one endless answer
		ErrorLog:      log.New(io.Discard, "", 0),      // members go away all the time
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			to, known := l.targets[r.URL.Host]
			if !known {
				return nil, fmt.Errorf("there is no member at %s", r.URL.Host)
			}
			way := l.between[from][to]
			if err := way.wait(r.Context()); err != nil {
				return nil, err
			}
			r.URL.Host = l.listen[to]
			answer, err := l.transport.RoundTrip(r)
			if err == nil {
				answer.Body = &held{answer.Body, r.Context(), way}
			}
			return answer, err
		}),
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// held is an answer on its way.
type held struct {
	io.ReadCloser
	ctx context.Context
	way *line
}

func (h *held) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	if cut := h.way.wait(h.ctx); cut != nil {
		return 0, cut
	}
	return n, err
}

// line is the way from one member to another. What is on it waits while it is shut, and arrives late.
type line struct {
	mu    sync.Mutex
	open  chan struct{} // closed while the line is open
	delay time.Duration
}

func newLine() *line {
	l := &line{open: make(chan struct{})}
	close(l.open)
	return l
}

// wait returns when a part may pass. It fails if ctx ends before.
func (l *line) wait(ctx context.Context) error {
	l.mu.Lock()
	open, delay := l.open, l.delay
	l.mu.Unlock()
	select {
	case <-open:
	case <-ctx.Done():
		return ctx.Err()
	}
	if delay == 0 {
		return nil
	}
	select {
	case <-time.After(delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *line) set(open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
		if !open {
			l.open = make(chan struct{})
		}
	default:
		if open {
			close(l.open)
		}
	}
}

func (l *line) slow(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = d
}

// around calls do with the lines between a member and the others, in both directions.
func (m *Member) around(do func(*line)) {
	for i := range m.lines.between {
		if i != m.number {
			do(m.lines.between[m.number][i])
			do(m.lines.between[i][m.number])
		}
	}
}

// Part parts the member from all others: what they send each other is held back. Clients reach it still. The cluster
// must have Options.Lines.
func (m *Member) Part() { m.around(func(l *line) { l.set(false) }) }

// Join undoes Part: what was held back arrives.
func (m *Member) Join() { m.around(func(l *line) { l.set(true) }) }

// Slow makes all that the member and the others send each other wait, part for part. The cluster must have
// Options.Lines.
func (m *Member) Slow(d time.Duration) { m.around(func(l *line) { l.slow(d) }) }
