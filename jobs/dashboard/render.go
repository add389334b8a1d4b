package dashboard

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

//go:embed web
var web embed.FS

// templates holds one set per page: the layout, the parts that pages share, and the page itself as "content".
var templates = parseTemplates("overview", "jobs", "job", "runs", "run", "locks", "one-off", "confirm", "problem")

func parseTemplates(names ...string) map[string]*template.Template {
	funcs := template.FuncMap{"name": breakable}
	shared := template.Must(template.New("").Funcs(funcs).ParseFS(web, "web/layout.html", "web/parts.html"))
	sets := make(map[string]*template.Template, len(names))
	for _, name := range names {
		set := template.Must(shared.Clone())
		sets[name] = template.Must(set.ParseFS(web, "web/"+name+".html"))
	}
	return sets
}

// request is one request to a page.
type request struct {
	d    *dashboard
	w    http.ResponseWriter
	r    *http.Request
	ctx  context.Context // ends after storeTimeout
	name string          // of the page
	user User
	end  func() // of the time of the page; nil: it has not begun

	hides sync.Once // the log has been told that texts are hidden

	mu      sync.Mutex     // guards all below, while questions are asked at the same time
	made    time.Time      // what the page shows is as of then, on the store's clock
	asked   time.Time      // made, on the local clock
	now     time.Time      // made, on the store's clock as that was set at newest
	newest  time.Time      // when the newest answer was asked for, on the local clock; zero: there is none yet
	set     time.Duration  // by how much the store's clock was set since then
	never   time.Time      // from when on nothing is known of what was never known; zero: there is no such
	silence *silence       // the store does not answer; nil: it does
	partial *problem       // parts of the store do not answer; nil: all do that were asked
	late    *problem       // answers are older than they should be; nil: none is
	unheld  *problem       // who holds the locks is not known; nil: it is, or is not shown
	unread  []*problem     // fields that were not understood
	back    *comeback      // it did not until a moment ago; nil: it did
	zone    *time.Location // of the reader; nil: unknown
}

// view is what a page shows.
type view struct {
	template string
	Title    string
	Menu     string // the entry of the menu that the page belongs to
	Live     bool   // the page shows what changes
	Problems []*problem
	Refused  bool // the user may not see anything
	Data     any

	// set by render
	Site     string
	Space    string // the namespace
	Silence  *silence
	Back     *comeback
	Note     *note
	User     User
	ReadOnly bool
	Operator bool
	Theme    string
	Here     string // the address of this page
	Node     string
	Now      moment
	Zone     string // of the reader; empty: unknown
	Styles   string
	Script   string
}

// liveHeader marks requests of the script, which takes the parts of the page that change and leaves the rest.
const liveHeader = "Dashboard-Live"

// render answers with the view. A page that cannot be made leaves no half of itself behind.
func (q *request) render(v *view) {
	v.Site, v.User, v.Node = q.d.cfg.Title, q.user, q.d.locks.Node()
	v.ReadOnly, v.Operator = q.d.cfg.Authorize == nil, q.operator()
	v.Theme, v.Now = q.theme(), q.moment(q.made)
	if !q.never.IsZero() && q.never.Before(q.made) {
		v.Now = q.moment(q.never)
	}
	v.Space, v.Silence, v.Back = q.d.locks.Namespace(), q.silence, q.back
	if q.silence != nil {
		q.late = nil
	}
	v.Live = v.Live || q.silence != nil || q.late != nil
	v.Problems = append(v.Problems, q.unread...)
	for _, p := range []*problem{q.unheld, q.partial, q.late} {
		if p != nil {
			v.Problems = append([]*problem{p}, v.Problems...)
		}
	}
	v.Here = q.ownAddress(q.name + "?" + q.r.URL.RawQuery)
	if q.zone != nil {
		v.Zone = q.zone.String()
	}
	v.Styles, v.Script = assets["style.css"].address, assets["app.js"].address
	live := q.r.Header.Get(liveHeader) != ""
	if !live && q.r.Method == http.MethodGet {
		v.Note = q.takeNote()
	}
	part := "layout"
	if live {
		part = "live"
	}
	var body bytes.Buffer
	if err := templates[v.template].ExecuteTemplate(&body, part, v); err != nil {
		q.d.cfg.Logger.LogAttrs(q.ctx, slog.LevelError, "dashboard page failed", slog.String("page", q.name),
			slog.Any("error", err))
		http.Error(q.w, "The dashboard could not make this page: see the log of the program.", http.StatusInternalServerError)
		return
	}
	h := q.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	h.Set("Vary", "Cookie, "+liveHeader)
	status := http.StatusOK
	for _, p := range v.Problems {
		status = max(status, p.Status)
	}
	if q.silence != nil {
		status = http.StatusServiceUnavailable
	}
	if status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	q.w.WriteHeader(status)
	if q.r.Method != http.MethodHead {
		q.w.Write(body.Bytes()) // an error means that nobody reads any more
	}
}

// breakable is a name that may be broken where its parts end, since lifelike names are longer than columns are wide.
func breakable(name string) template.HTML {
	var out strings.Builder
	part, lower := 0, false
	for i, r := range name {
		switch {
		case strings.ContainsRune("/.-_:@", r):
			out.WriteString(template.HTMLEscapeString(name[part:i+1]) + "<wbr>")
			part = i + 1
		case lower && unicode.IsUpper(r):
			out.WriteString(template.HTMLEscapeString(name[part:i]) + "<wbr>")
			part = i
		}
		lower = unicode.IsLower(r)
	}
	out.WriteString(template.HTMLEscapeString(name[part:]))
	return template.HTML(out.String())
}

// text is what may be shown of a text that a job or a person wrote: nothing, if that cannot be told.
func (q *request) text(field, value string) (shown string) {
	if value == "" {
		return ""
	}
	if err := caught(func() error { shown = q.d.cfg.Redact(field, value); return nil }); err != nil {
		q.hides.Do(func() {
			q.d.cfg.Logger.LogAttrs(q.ctx, slog.LevelError, "dashboard texts hidden: Redact failed", slog.String("page", q.name),
				slog.String("field", field), slog.Any("error", err))
		})
		return "(hidden)"
	}
	return shown
}
