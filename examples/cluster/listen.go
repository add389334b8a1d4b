package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"
)

// webPage serves the site.
type webPage struct {
	listener net.Listener
	server   *http.Server
	done     chan struct{} // closed when serving has ended
}

// listenPage takes the address of the web page, before anything else starts.
func listenPage(addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("web page: %s is in use by another program: stop that one, or choose another address "+
			"with -addr, such as -addr 127.0.0.1:0 for any free port", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("web page: cannot listen on -addr %s: %w", addr, err)
	}
	return ln, nil
}

func servePage(ln net.Listener, h http.Handler, b *board) *webPage {
	p := &webPage{
		listener: ln,
		server:   &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second},
		done:     make(chan struct{}),
	}
	go func() {
		defer close(p.done)
		if err := p.server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			b.printf("web page: %v", err)
		}
	}()
	return p
}

// url is where a browser on this machine finds the page.
func (p *webPage) url() string {
	at, ok := p.listener.Addr().(*net.TCPAddr)
	if ok && at.IP.IsUnspecified() {
		return fmt.Sprintf("http://localhost:%d/", at.Port)
	}
	return "http://" + p.listener.Addr().String() + "/"
}

func (p *webPage) close() {
	p.server.Close()
	<-p.done
}
