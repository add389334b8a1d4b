package browsertest

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const (
	madeText = `document.querySelector("#made time").innerText`
	greyed   = `getComputedStyle(document.querySelector(".content")).filter.includes("grayscale")`
	inColour = `!(` + greyed + `)`
)

// TestLive_selection: what is held while text in it is selected is not called the present.
func TestLive_selection(t *testing.T) {
	t.Parallel()
	r := newRig(t, operator)
	b := newTab(t, r.base())
	b.open("jobs")
	b.awaitText("#list", "import")
	ask[bool](b, countTakeOvers)
	ask[bool](b, `(getSelection().selectAllChildren(document.querySelector("#list a.name")), true)`)
	made := ask[string](b, madeText)
	if err := r.nodes[1].Pause(t.Context(), "report", "bob", "broken"); err != nil {
		t.Fatal(err)
	}
	b.await(`window.taken >= 3`)
	if now := ask[string](b, madeText); now != made {
		t.Errorf("the list is as of %s, the foot says %s", made, now)
	}
	b.awaitText("#live", "held while text is selected")
	b.await(`/paused\s*1/i.test(document.querySelector("#states").textContent)`) // the rest goes on
	b.shoot("live-held")
	ask[bool](b, `(getSelection().removeAllRanges(), true)`)
	b.awaitText("#list", "paused by bob")
	b.await(madeText + ` !== ` + fmt.Sprintf("%q", made))
	b.await(`document.querySelector("#live").innerText.trim() === "live"`)
}

// TestLive_selectAll: also with all text selected, a page says that nothing is known.
func TestLive_selectAll(t *testing.T) {
	t.Parallel()
	r := newRig(t, operator)
	b := newTab(t, r.base())
	b.open("jobs")
	b.awaitText("#list", "import")
	ask[bool](b, `(getSelection().selectAllChildren(document.body), true)`)
	r.cluster.Outage(true)
	b.awaitText("#unknown", "Unknown since")
	b.await(greyed)
}

// front stands before the dashboard of a rig, and does with requests what it is told to.
type front struct {
	*httptest.Server
	serve atomic.Pointer[http.HandlerFunc]
}

func newFront(t *testing.T, r *rig) *front {
	t.Helper()
	f := &front{}
	f.does(r.server.Config.Handler.ServeHTTP)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		(*f.serve.Load())(w, req)
	}))
	t.Cleanup(func() { f.Close() })
	return f
}

func (f *front) does(serve http.HandlerFunc) { f.serve.Store(&serve) }

// TestLive_gone: a job is forgotten while its page is open.
func TestLive_gone(t *testing.T) {
	t.Parallel()
	r, _, _ := filled(t, operator)
	f := newFront(t, r)
	b := newTab(t, f.URL+"/ops/jobs/")
	b.open("job?name=import")
	b.awaitText("#runs", "connection refused")
	f.does(func(w http.ResponseWriter, req *http.Request) {
		req.URL.RawQuery = "name=nosuch"
		r.server.Config.Handler.ServeHTTP(w, req)
	})
	b.awaitText("#problems", "Not found")
	b.awaitText("#live", "answered with status 404, trying again")
	b.await(greyed)
	made := ask[string](b, madeText)
	ask[bool](b, countTakeOvers)
	b.await(`window.answers >= 2`)
	if now := ask[string](b, madeText); now != made {
		t.Errorf("the page is as of %s, the foot says %s", made, now)
	}
	b.shoot("live-gone")
	f.does(r.server.Config.Handler.ServeHTTP)
	b.await(inColour)
	b.await(`document.querySelector("#problems").innerText.trim() === "" && ` + madeText + fmt.Sprintf(` !== %q`, made))
	b.await(`document.querySelector("#live").innerText.trim() === "live"`)
}

// TestLive_unanswered: the server goes, hangs, or another one answers in its place. The page says so until it is back.
func TestLive_unanswered(t *testing.T) {
	t.Parallel()
	r, _, _ := filled(t, operator)
	hang := make(chan struct{})
	let := sync.OnceFunc(func() { close(hang) })
	for name, test := range map[string]struct {
		does http.HandlerFunc // nil: nobody listens
		says string
	}{
		"gone":    {nil, "The server does not answer"},
		"hanging": {func(http.ResponseWriter, *http.Request) { <-hang }, "The server does not answer"},
		"proxy":   {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad gateway", 502) }, "The server answers with status 502"},
		"HTML":    {otherPage(502), "The server answers with status 502"},
		"sign-in": {otherPage(200), "The server answers with another page"},
		"redirect": {func(w http.ResponseWriter, req *http.Request) {
			if strings.HasSuffix(req.URL.Path, "/sign-in") {
				otherPage(200)(w, req)
				return
			}
			http.Redirect(w, req, "/sign-in", http.StatusSeeOther)
		}, "The server answers with another page"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFront(t, r)
			t.Cleanup(let)
			b := newTab(t, f.URL+"/ops/jobs/")
			b.open("")
			b.awaitText("#nodes", "alive")
			if test.does == nil {
				f.Close()
			} else {
				f.does(test.does)
			}
			b.awaitText("#lost", test.says)
			b.await(greyed)
			made := ask[string](b, madeText)
			b.awaitText("#lost", "This page is as of "+made+" UTC.")
			if test.does == nil {
				for _, l := range looks {
					b.sized(l.width, l.scheme)
					b.fits("live-" + name + "-" + l.String())
				}
				f.again(t)
			} else {
				f.does(r.server.Config.Handler.ServeHTTP)
			}
			if name == "hanging" {
				let()
			}
			b.await(`document.querySelector("#lost").hidden`)
			b.await(inColour)
			b.await(madeText + fmt.Sprintf(` !== %q`, made))
			b.await(`document.querySelector("#live").innerText.trim() === "live"`)
		})
	}
}

// otherPage is one that is not of the dashboard.
func otherPage(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		fmt.Fprint(w, "<!doctype html><title>Another</title><h1>Another page</h1>")
	}
}

// again listens at the address where the server was.
func (f *front) again(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", f.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(f.Config.Handler)
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	f.Server = server
}
