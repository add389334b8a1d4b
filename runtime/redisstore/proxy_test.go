package redisstore_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// proxy stands between a client and the server and does to their connections what networks do.
type proxy struct {
	t      testing.TB
	target string
	addr   string
	wg     sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	ln      net.Listener
	conns   map[net.Conn]bool
	closed  bool
	refuses bool
	hole    bool // nothing gets through, in either direction; what was sent arrives when it ends
	deaf    bool // requests are held back like that
	mute    bool // answers and pushes are
	// reply decides about an answer of the server. nil lets all pass.
	reply func(request, reply []byte) verdict
	// delay holds a request back while it runs; others pass meanwhile, on their own connections. nil: none is.
	delay func(request []byte)
	seen  int // how many answers reply did not let pass
}

type verdict int

const (
	pass verdict = iota
	drop         // the answer is lost, the connection lives on
	cut          // the answer is lost with the connection
	tear         // the connection ends in the middle of the answer
	fin          // the server says no more on this connection, and goes on listening
)

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	p := &proxy{t: t, target: target, conns: make(map[net.Conn]bool)}
	p.changed = sync.NewCond(&p.mu)
	p.listen("127.0.0.1:0")
	p.addr = p.ln.Addr().String()
	t.Cleanup(func() {
		p.set(func() { p.closed, p.hole, p.deaf, p.mute = true, false, false, false })
		p.refuse()
		p.wg.Wait()
	})
	return p
}

// client returns a client through the proxy, closed with the test.
func (p *proxy) client(change ...func(*redis.Options)) *redis.Client {
	p.t.Helper()
	opts := &redis.Options{Addr: p.addr, ContextTimeoutEnabled: true}
	for _, f := range change {
		f(opts)
	}
	client := redis.NewClient(opts)
	p.t.Cleanup(func() { _ = client.Close() })
	return client
}

// set changes what the proxy does.
func (p *proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.changed.Broadcast()
}

// lost is how many answers were lost.
func (p *proxy) lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

func (p *proxy) listen(addr string) {
	p.t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		p.t.Fatalf("proxy: %v", err)
	}
	p.set(func() { p.ln, p.refuses = ln, false })
	p.wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(conn) })
		}
	})
}

// refuse cuts all connections and refuses new ones until accept is called.
func (p *proxy) refuse() { p.set(p.refuseLocked) }

func (p *proxy) refuseLocked() {
	p.refuses = true // what was accepted and is not known yet, too
	_ = p.ln.Close()
	p.cutLocked()
}

func (p *proxy) accept() { p.listen(p.addr) }

func (p *proxy) cutLocked() {
	for conn := range p.conns {
		_ = conn.Close()
	}
}

func (p *proxy) serve(down net.Conn) {
	defer down.Close()
	up, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer up.Close()
	p.set(func() { p.conns[down], p.conns[up] = true, true })
	defer p.set(func() { delete(p.conns, down); delete(p.conns, up) })
	if p.isShut() {
		return
	}
	var (
		mu      sync.Mutex
		request []byte
		wg      sync.WaitGroup
	)
	wg.Go(func() {
		defer down.Close()
		defer up.Close()
		p.copy(up, down, &p.deaf, func(b []byte) verdict {
			mu.Lock()
			defer mu.Unlock()
			request = bytes.Clone(b)
			return p.late(b)
		})
	})
	p.copy(down, up, &p.mute, func(b []byte) verdict {
		mu.Lock()
		last := request
		mu.Unlock()
		return p.judge(last, b)
	})
	_, _ = down.Close(), up.Close()
	wg.Wait()
}

func (p *proxy) isShut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed || p.refuses
}

func (p *proxy) judge(request, reply []byte) verdict {
	p.mu.Lock()
	decide := p.reply
	p.mu.Unlock()
	if decide == nil {
		return pass
	}
	v := decide(request, reply)
	if v != pass {
		p.set(func() { p.seen++ })
	}
	return v
}

// late lets a request pass when its time has come.
func (p *proxy) late(request []byte) verdict {
	p.mu.Lock()
	delay := p.delay
	p.mu.Unlock()
	if delay != nil {
		delay(request)
	}
	return pass
}

// copy passes on what it reads until a connection ends. held, guarded by the mutex, is whether this direction is
// silent.
func (p *proxy) copy(to, from net.Conn, held *bool, judge func([]byte) verdict) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		for p.hole || *held {
			p.changed.Wait()
		}
		p.mu.Unlock()
		switch judge(buf[:n]) {
		case cut:
			return
		case drop:
			continue
		case tear:
			_, _ = to.Write(buf[:n/2])
			return
		case fin:
			_ = to.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, from)
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// pushes drops what is published, and nothing else.
func pushes(_, reply []byte) verdict {
	if bytes.Contains(reply, []byte("$7\r\nmessage\r\n")) {
		return drop
	}
	return pass
}
