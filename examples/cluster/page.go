package main

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/lockgen/lockgen/examples/internal/witness"
	"github.com/lockgen/lockgen/internal/timeline"
)

//go:embed web
var web embed.FS

// pageStyles are the styles of the page and of the timeline in it.
var pageStyles = mustRead("web/page.css") + timeline.Styles

func mustRead(name string) string {
	content, err := web.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(content)
}

var pageTemplate = template.Must(template.ParseFS(web, "web/page.html"))

// page is what the page shows.
type page struct {
	snapshot
	Now      time.Time
	Score    *witness.Verdict // nil: there is none yet
	Living   int
	Operator bool              // may kill and start nodes
	Doing    map[string]string // by node: what it runs
	Timeline template.HTML     // what ran where; empty: nothing yet
}

// Done is how many due ticks have been run to their end, or are being run.
func (p page) Done() int { return p.Score.Ticks - p.Score.Open }

// Killable reports whether the node may be killed: not the last one.
func (p page) Killable(n nodeState) bool {
	return p.Operator && n.State == stateRunning && p.Living > 1
}

// Startable reports whether the node may be started again.
func (p page) Startable(n nodeState) bool { return p.Operator && n.State == stateKilled }

// Short is a job's name as the page shows it.
func (p page) Short(job string) string { return shortName(job) }

// Ago is how long something has been so.
func (p page) Ago(since time.Time) string {
	return max(0, p.Now.Sub(since)).Truncate(time.Second).String()
}

// pageHandler shows the page at / with what belongs to it, and answers nothing else.
func pageHandler(view func(*http.Request) page) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		if err := pageTemplate.Execute(&body, view(r)); err != nil {
			http.Error(w, "cannot render the page: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(body.Bytes())
	})
	mux.HandleFunc("GET /page.css", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "page.css", time.Time{}, strings.NewReader(pageStyles))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy",
			"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "+
				"form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}
