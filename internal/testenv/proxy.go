package testenv

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy stands between clients and a server. It can be silent, slow, swallow answers, or cut connections.
type Proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu     sync.Mutex    // guards what follows
	open   chan struct{} // closed while bytes pass
	conns  map[net.Conn]bool
	closed bool
	mute   bool // what the server answers is thrown away
	delay  time.Duration
	seen   int // connections so far
	bytes  int // that the server has answered so far
	text   []byte
	then   func() // called once, before a request passes that has text; nil: there is none
}

// NewProxy starts one in front of the address target, and stops it at the end of the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, target: target, open: make(chan struct{}), conns: make(map[net.Conn]bool)}
	close(p.open)
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.Resume()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.Cut()
		p.running.Wait()
	})
	return p
}

// Addr is where clients reach the server.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Accepted is how many connections there were.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// Answered is how many bytes the server has answered.
func (p *Proxy) Answered() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.seen++
		if p.closed {
			_, _ = client.Close(), server.Close()
		}
		p.mu.Unlock()
		p.running.Go(func() { p.pass(client, server, false) })
		p.running.Go(func() { p.pass(server, client, true) })
	}
}

func (p *Proxy) pass(from, to net.Conn, answers bool) {
	defer p.forget(from, to)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		open, mute, delay := p.open, p.mute && answers, p.delay
		if answers {
			p.bytes += n
		}
		p.mu.Unlock()
		if !answers {
			p.look(buf[:n])
		}
		<-open
		time.Sleep(delay)
		if n > 0 && !mute {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(p.conns, c)
	}
}

// On has f called once, before the first request passes that has a text, in letters of either case.
func (p *Proxy) On(text string, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text, p.then = bytes.ToLower([]byte(text)), f
}

func (p *Proxy) look(request []byte) {
	p.mu.Lock()
	f := p.then
	if f != nil && bytes.Contains(bytes.ToLower(request), p.text) {
		p.then = nil
	} else {
		f = nil
	}
	p.mu.Unlock()
	if f != nil {
		f()
	}
}

// Silence holds back all bytes from here on, in both directions.
func (p *Proxy) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
		p.open = make(chan struct{})
	default:
	}
}

// Resume lets them pass.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
	default:
		close(p.open)
	}
}

// Slow makes each packet wait.
func (p *Proxy) Slow(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Swallow throws away what the server answers, until the next cut.
func (p *Proxy) Swallow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = true
}

// Cut ends all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = false
	for c := range p.conns {
		_ = c.Close()
	}
}
