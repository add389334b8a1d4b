package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/examples/cluster/internal/witness"
)

func TestPage_escapesWhatItShows(t *testing.T) {
	const script = "<script>alert(1)</script>"
	b := &board{out: io.Discard}
	b.node("node-1"+script, "running"+script)
	b.setJobs([]witness.Job{{Name: "job" + script, Spec: "*" + script}})
	b.finished(runLine{Job: script, Node: script, Tick: time.Unix(0, 0), Outcome: "error", Note: script})

	response := httptest.NewRecorder()
	pageHandler(b).ServeHTTP(response, httptest.NewRequest("GET", "/", nil))
	body := response.Body.String()
	if strings.Contains(body, "<script") || strings.Count(body, "&lt;script&gt;alert(1)") != 7 {
		t.Errorf("not escaped, or not shown:\n%s", body)
	}
	if csp := response.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") {
		t.Errorf("Content-Security-Policy: %q", csp)
	}
	for _, external := range []string{"src=", "http://", "https://", "<link"} {
		if strings.Contains(body, external) {
			t.Errorf("the page loads something: %s", external)
		}
	}
}

func TestPage_readOnly(t *testing.T) {
	h := pageHandler(&board{out: io.Discard})
	for request, want := range map[string]int{"GET /": 200, "HEAD /": 200, "POST /": 405, "DELETE /": 405, "GET /other": 404} {
		method, path, _ := strings.Cut(request, " ")
		response := httptest.NewRecorder()
		h.ServeHTTP(response, httptest.NewRequest(method, path, nil))
		if response.Code != want {
			t.Errorf("%s: %d, want %d", request, response.Code, want)
		}
	}
}

func TestBoard_finished_keepsTheNewest(t *testing.T) {
	b := &board{out: io.Discard}
	for i := range boardRuns + 5 {
		b.finished(runLine{Job: "a", Fence: uint64(i)})
	}
	_, _, runs := b.snapshot()
	if len(runs) != boardRuns || runs[0].Fence != boardRuns+4 {
		t.Errorf("%d runs, the first with fence %d", len(runs), runs[0].Fence)
	}
}

func TestServePage_closesItsListener(t *testing.T) {
	ln, err := listenPage("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &board{out: io.Discard}
	p := servePage(ln, pageHandler(b), b)
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
