package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/lockgen/lockgen/examples/cluster/internal/witness"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/dashboard"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// webPage serves the board. It only reads, and says so to browsers.
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

func (p *webPage) url() string { return "http://" + p.listener.Addr().String() + "/" }

func (p *webPage) close() {
	p.server.Close()
	<-p.done
}

// siteHandler shows the board at / and the dashboard of jobs at /jobs/.
func siteHandler(b *board, s *jobs.Scheduler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", pageHandler(b))
	mux.Handle("/jobs/", dashboard.Handler(s, dashboard.Config{Title: "lockgen cluster", Authorize: authorize}))
	return mux
}

// authorize lets everybody act who sits at this machine, and others look: the
// example knows no users. A browser sends the name that was asked for, so a page
// of another site that has its name point here is not taken for this machine.
func authorize(r *http.Request) (dashboard.User, error) {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	remote, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return dashboard.User{}, fmt.Errorf("where does %q come from: %w", r.RemoteAddr, err)
	}
	if (host == "localhost" || isLoopback(host)) && isLoopback(remote) {
		return dashboard.User{Name: "you", Role: dashboard.RoleOperator}, nil
	}
	return dashboard.User{Name: remote, Role: dashboard.RoleViewer}, nil
}

func isLoopback(address string) bool {
	ip := net.ParseIP(strings.Trim(address, "[]"))
	return ip != nil && ip.IsLoopback()
}

// pageHandler shows the board at / and answers nothing else.
func pageHandler(b *board) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		var data struct {
			Now   time.Time
			Nodes []nodeState
			Jobs  []witness.Job
			Runs  []runLine
		}
		data.Now = time.Now().UTC()
		data.Nodes, data.Jobs, data.Runs = b.snapshot()
		var body bytes.Buffer
		if err := pageTemplate.Execute(&body, data); err != nil {
			http.Error(w, "cannot render the page: "+err.Error(), http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		w.Write(body.Bytes())
	})
	return mux
}
