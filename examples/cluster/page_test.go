package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/examples/internal/witness"
)

func show(p page) http.Handler { return pageHandler(func(*http.Request) page { return p }) }

func TestPage_escapesWhatItShows(t *testing.T) {
	const script = "<script>alert(1)</script>"
	b := &board{out: io.Discard}
	b.node("node-1"+script, "running")
	b.node("node-2", "killed"+script)
	b.setJobs([]witness.Job{{Name: "job" + script, Spec: "*" + script}})
	b.finished(runLine{Job: script, Node: script, Tick: time.Unix(0, 0), Outcome: script, Note: script})
	p := page{snapshot: b.snapshot(), Operator: true, Living: 2, Doing: map[string]string{"node-1" + script: script}}

	response := httptest.NewRecorder()
	show(p).ServeHTTP(response, httptest.NewRequest("GET", "/", nil))
	body := response.Body.String()
	// The name of the first node stands in its key, its form and its button as well, a job in its row's key, an outcome in a class.
	if strings.Contains(body, "<script>") || strings.Count(body, "&lt;script&gt;alert(1)") != 14 {
		t.Errorf("not escaped, or not shown: %d times in\n%s", strings.Count(body, "&lt;script&gt;alert(1)"), body)
	}
	csp := response.Header().Get("Content-Security-Policy")
	if !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
		t.Errorf("Content-Security-Policy: %q", csp)
	}
	for _, external := range []string{"http://", "https://", "//"} {
		if strings.Contains(body, external) {
			t.Errorf("the page loads something: %s", external)
		}
	}
}

// The buttons stand where they do something, and nowhere else.
func TestPage_buttons(t *testing.T) {
	b := &board{out: io.Discard}
	b.process("node-1", 77)
	b.node("node-2", stateKilled)
	b.node("node-3", stateStarting)
	for _, test := range []struct {
		operator bool
		living   int
		kill     int
		start    int
	}{{true, 2, 1, 1}, {true, 1, 0, 1}, {false, 2, 0, 0}} {
		response := httptest.NewRecorder()
		p := page{snapshot: b.snapshot(), Operator: test.operator, Living: test.living,
			Score: &witness.Verdict{Ticks: 7, Open: 2}}
		show(p).ServeHTTP(response, httptest.NewRequest("GET", "/", nil))
		body := response.Body.String()
		kill, start := strings.Count(body, `action="kill"`), strings.Count(body, `action="start"`)
		if kill != test.kill || start != test.start {
			t.Errorf("%+v: %d times kill, %d times start:\n%s", test, kill, start, body)
		}
		for _, want := range []string{"process 77", "killed", "<b>7</b>", "<b>5</b>", "<b>2</b>"} {
			if !strings.Contains(body, want) {
				t.Errorf("does not show %q:\n%s", want, body)
			}
		}
	}
}

func TestPage_methods(t *testing.T) {
	for request, want := range map[string]int{
		"GET /": 200, "HEAD /": 200, "GET /page.css": 200,
		"POST /": 405, "DELETE /": 405, "GET /other": 404, "GET /web/page.html": 404,
	} {
		method, path, _ := strings.Cut(request, " ")
		response := httptest.NewRecorder()
		show(page{}).ServeHTTP(response, httptest.NewRequest(method, path, nil))
		if response.Code != want {
			t.Errorf("%s: %d, want %d", request, response.Code, want)
		}
		if h := response.Header(); h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", request, h)
		}
	}
}

func TestBoard_finished_keepsTheNewest(t *testing.T) {
	b := &board{out: io.Discard}
	for i := range boardRuns + 5 {
		b.finished(runLine{Job: "a", Fence: uint64(i)})
	}
	if runs := b.snapshot().Runs; len(runs) != boardRuns || runs[0].Fence != boardRuns+4 {
		t.Errorf("%d runs, the first with fence %d", len(runs), runs[0].Fence)
	}
}

// What was lost is told, and who has run it again.
func TestBoard_finished_saysWhoTookOver(t *testing.T) {
	var out strings.Builder
	b := &board{out: &out}
	at := time.Date(2026, 3, 1, 12, 0, 3, 0, time.UTC)
	for _, r := range []runLine{
		{Job: "a", Tick: at, Node: "node-2", Outcome: "lost", Note: "it died"},
		{Job: "b", Tick: at, Node: "node-1", Outcome: "ok"},
		{Job: "a", Tick: at, Node: "node-3", Outcome: "ok", Attempt: 2},
		{Job: "a", Tick: at.Add(time.Second), Node: "node-3", Outcome: "ok"},
	} {
		b.finished(r)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{"lost: it died", "ok", "ok: run again, since node-2 lost it", "ok"} {
		if !strings.HasSuffix(lines[i], "  "+want) {
			t.Errorf("line %d is %q, want %q at its end", i, lines[i], want)
		}
	}
}

func TestServePage_closesItsListener(t *testing.T) {
	ln, err := listenPage("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &board{out: io.Discard}
	p := servePage(ln, show(page{}), b)
	response, err := http.Get(p.url())
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	p.close()
	if conn, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		conn.Close()
		t.Error("still listening")
	}
}

func TestRun_pageAddressTaken(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var stderr strings.Builder
	code := run([]string{"-addr", ln.Addr().String(), "-for", "1s"}, nil, io.Discard, &stderr)
	for _, want := range []string{ln.Addr().String() + " is in use", "-addr 127.0.0.1:0"} {
		if code != 1 || !strings.Contains(stderr.String(), want) {
			t.Errorf("exit status %d, %q does not say %q", code, stderr.String(), want)
		}
	}
}
