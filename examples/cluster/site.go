package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/lockgen/lockgen/examples/internal/witness"
	"github.com/lockgen/lockgen/jobs/dashboard"
)

// site is what the browser sees: the page of the example at /, and the dashboard of
// jobs at /jobs/.
type site struct {
	board   *board
	cluster cluster
	control *control
}

func (s *site) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", pageHandler(s.view))
	mux.Handle("POST /kill", operators(s.change(s.control.kill, "killed")))
	mux.Handle("POST /start", operators(s.change(s.control.start, "started again")))
	mux.Handle("/jobs/", dashboard.Handler(s.cluster.onlooker(), dashboard.Config{
		Title: "lockgen cluster", Authorize: authorize,
	}))
	return mux
}

// view is what the page shows to whoever asks.
func (s *site) view(r *http.Request) page {
	user, err := authorize(r)
	p := page{
		Now: time.Now().UTC(), snapshot: s.board.snapshot(), Living: len(s.cluster.living()),
		Operator: err == nil && user.Role == dashboard.RoleOperator, Doing: map[string]string{},
	}
	events, err := s.cluster.events()
	if err != nil {
		return p // the nodes and the last runs are something
	}
	deaths := s.cluster.deaths()
	for _, n := range p.Nodes {
		var born time.Time
		if died := deaths[n.Name]; len(died) > 0 {
			born = died[len(died)-1]
		}
		p.Doing[n.Name] = strings.Join(doingSince(n.Name, born, events), ", ")
	}
	p.Timeline = drawTimeline(p.Now, p.snapshot, deaths, events)
	p.Score = s.score(r.Context(), p.opened, deaths, events)
	return p
}

// score is what the witness says so far, nil before it has anything to say.
func (s *site) score(ctx context.Context, opened time.Time, deaths witness.Deaths,
	events []witness.Event) *witness.Verdict {
	now, err := s.cluster.now(ctx)
	if opened.IsZero() || err != nil {
		return nil
	}
	v, err := witness.Judge(s.cluster.specs(), witness.Window{Open: opened, Close: now}, deaths, events)
	if err != nil {
		return nil
	}
	return &v
}

// change does something to the node that the form or the address names. Browsers go
// back to the page; what is said meanwhile is for the terminal.
func (s *site) change(do func(node string) error, done string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		node := r.FormValue("node")
		err := do(node)
		var no *refusal
		switch {
		case errors.As(err, &no):
			http.Error(w, no.text, no.status)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			w.Header().Set("Location", "./")
			w.WriteHeader(http.StatusSeeOther)
			fmt.Fprintf(w, "%s %s\n", node, done)
		}
	})
}

// operators lets those act who may, from pages of this site or without a browser.
func operators(h http.Handler) http.Handler {
	protected := http.NewCrossOriginProtection().Handler(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, err := authorize(r); err != nil || user.Role != dashboard.RoleOperator {
			http.Error(w, "only who sits at this machine may do that: ask for 127.0.0.1 or localhost, from there",
				http.StatusForbidden)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 1<<10)
		protected.ServeHTTP(w, r)
	})
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
