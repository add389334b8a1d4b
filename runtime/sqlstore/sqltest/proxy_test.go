package sqltest

import (
	"net"
	"sync"
	"testing"
)

// proxy stands between a pool and its server, and can be silent or cut connections.
type proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu     sync.Mutex    // guards what follows
	open   chan struct{} // closed while bytes pass
	conns  map[net.Conn]bool
	closed bool
	mute   bool // what servers answer is thrown away
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target, open: make(chan struct{}), conns: make(map[net.Conn]bool)}
	close(p.open)
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.resume()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.cut()
		p.running.Wait()
	})
	return p
}

func (p *proxy) accept() {
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
		if p.closed {
			_, _ = client.Close(), server.Close()
		}
		p.mu.Unlock()
		p.running.Go(func() { p.pass(client, server, false) })
		p.running.Go(func() { p.pass(server, client, true) })
	}
}

func (p *proxy) pass(from, to net.Conn, answers bool) {
	defer p.forget(from, to)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		open, mute := p.open, p.mute && answers
		p.mu.Unlock()
		<-open
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

func (p *proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(p.conns, c)
	}
}

// silence holds back all bytes from here on, in both directions.
func (p *proxy) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = make(chan struct{})
}

// resume lets them pass.
func (p *proxy) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
	default:
		close(p.open)
	}
}

// swallow throws away what servers answer, until the next cut.
func (p *proxy) swallow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = true
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = false
	for c := range p.conns {
		_ = c.Close()
	}
}
