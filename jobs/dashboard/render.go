package dashboard

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"strconv"
	"time"
)

//go:embed web
var web embed.FS

// templates holds one set per page: the layout, the parts that pages share, and the page itself as "content".
var templates = parseTemplates("overview", "jobs", "job", "run", "locks", "once", "confirm", "problem")

func parseTemplates(names ...string) map[string]*template.Template {
	shared := template.Must(template.ParseFS(web, "web/layout.html", "web/parts.html"))
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
	now  time.Time // on the store's clock
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
	Note     *note
	User     User
	ReadOnly bool
	Operator bool
	Theme    string
	Back     string
	Node     string
	Now      moment
	Styles   string
	Script   string
}

// liveHeader marks requests of the script, which takes the parts of the page that change and leaves the rest.
const liveHeader = "Dashboard-Live"

// render answers with the view. A page that cannot be made leaves no half of itself behind.
func (q *request) render(v *view) {
	v.Site, v.User, v.Node = q.d.cfg.Title, q.user, q.d.locks.Node()
	v.ReadOnly, v.Operator = q.d.cfg.Authorize == nil, q.operator()
	v.Theme, v.Now = q.theme(), q.moment(q.now)
	v.Back = q.ownAddress(q.name + "?" + q.r.URL.RawQuery)
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
	if status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "5")
	}
	q.w.WriteHeader(status)
	if q.r.Method != http.MethodHead {
		q.w.Write(body.Bytes()) // an error means that nobody reads any more
	}
}

// text is what may be shown of a text that a job or a person wrote.
func (q *request) text(field, value string) string {
	if value == "" {
		return ""
	}
	return q.d.cfg.Redact(field, value)
}
