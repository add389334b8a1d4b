package lincheck

import (
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// chaos is a proxy that loses answers together with their connections, at random: the request has been executed, and
// whoever sent it does not know.
type chaos struct {
	target string
	ln     net.Listener
	wg     sync.WaitGroup
	every  int // one answer in so many is lost

	mu     sync.Mutex
	random *rand.Rand
	conns  map[net.Conn]bool
	lost   int
}

func newChaos(t *testing.T, target string, seed uint64, every int) *chaos {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &chaos{target: target, ln: ln, every: every, random: rand.New(rand.NewPCG(seed, 0)), conns: map[net.Conn]bool{}}
	c.wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			c.wg.Go(func() { c.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		c.mu.Lock()
		for conn := range c.conns {
			_ = conn.Close()
		}
		c.mu.Unlock()
		c.wg.Wait()
		t.Logf("%d answers were lost", c.lost)
	})
	return c
}

func (c *chaos) serve(down net.Conn) {
	up, err := net.Dial("tcp", c.target)
	if err != nil {
		_ = down.Close()
		return
	}
	c.mu.Lock()
	c.conns[down], c.conns[up] = true, true
	c.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() { c.copy(up, down, false) })
	c.copy(down, up, true)
	wg.Wait()
	c.mu.Lock()
	delete(c.conns, down)
	delete(c.conns, up)
	c.mu.Unlock()
}

func (c *chaos) copy(to, from net.Conn, answers bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil || answers && c.loses() {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (c *chaos) loses() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.random.IntN(c.every) > 0 {
		return false
	}
	c.lost++
	return true
}
