package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/examples/internal/witness"
)

// mortals is a cluster of names.
type mortals struct {
	forgedCluster
	alive  []string
	breaks error // every change fails
}

func (m *mortals) living() []string { return m.alive }

func (m *mortals) kill(node string) error {
	m.add(node)
	m.alive = slices.DeleteFunc(slices.Clone(m.alive), func(n string) bool { return n == node })
	return m.breaks
}

func (m *mortals) start(node string) error {
	m.alive = append(m.alive, node)
	return m.breaks
}

// newMortals is two nodes, the second of which is in the middle of a run.
func newMortals() (*mortals, *control, *strings.Builder) {
	var out strings.Builder
	b := &board{out: &out}
	m := &mortals{alive: []string{"node-1", "node-2"}}
	for _, n := range m.alive {
		b.node(n, stateRunning)
	}
	began := time.Now().Add(-time.Second)
	m.notes = []witness.Event{{Kind: witness.Start, Run: "1", Job: "index", Tick: noon, Node: "node-2", At: began}}
	return m, &control{cluster: m, board: b}, &out
}

func TestControl(t *testing.T) {
	m, c, out := newMortals()
	for _, step := range []struct {
		do   func(string) error
		node string
		want string // of the error
	}{
		{c.start, "node-1", "node-1 runs already"},
		{c.kill, "node-9", `there is no node "node-9": the nodes are node-1, node-2`},
		{c.start, "", `there is no node ""`},
		{c.kill, "node-2", ""},
		{c.kill, "node-2", "node-2 is dead already"},
		{c.kill, "node-1", "node-1 is the last one that lives: start another one first"},
		{c.start, "node-2", ""},
		{c.kill, "node-2", ""},
	} {
		err := step.do(step.node)
		if (err == nil) != (step.want == "") || err != nil && !strings.Contains(err.Error(), step.want) {
			t.Errorf("%s: %v, want %q", step.node, err, step.want)
		}
	}
	// The second time the run of the first life is no news.
	want := "node-2 killed in the middle of index of 12:00:00: it released nothing; the others find out\n" +
		"node-2 started again\nnode-2 killed; it was running nothing\n"
	if out.String() != want {
		t.Errorf("said:\n%swant:\n%s", out, want)
	}
	if n := len(m.deaths()["node-2"]); n != 2 {
		t.Errorf("%d deaths", n)
	}
}

func TestControl_killBusy(t *testing.T) {
	m, c, _ := newMortals()
	if err := c.killBusy(); err != nil || !slices.Equal(m.alive, []string{"node-1"}) {
		t.Errorf("%v, alive are %v, want node-2 killed, which runs something", err, m.alive)
	}
	m.alive = nil
	if err := c.killBusy(); err == nil {
		t.Error("killed somebody")
	}
}

func TestControl_closed(t *testing.T) {
	_, c, _ := newMortals()
	c.close()
	for _, do := range []func(string) error{c.kill, c.start} {
		if err := do("node-1"); err == nil || !strings.Contains(err.Error(), "being stopped") {
			t.Errorf("%v", err)
		}
	}
}

// TestSite_kill asks as a form of the page does, as curl does, and as nobody may.
func TestSite_kill(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	for name, test := range map[string]struct {
		header http.Header
		host   string
		method string
		node   string
		breaks error
		status int
		says   string
	}{
		"the page": {header: http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {"http://127.0.0.1:8080"}},
			status: 303, says: "node-2 killed"},
		"curl":            {status: 303, says: "node-2 killed"},
		"another site":    {header: http.Header{"Sec-Fetch-Site": {"cross-site"}}, status: 403},
		"another origin":  {header: http.Header{"Origin": {"https://evil.example"}}, status: 403},
		"a name for here": {host: "evil.example:8080", status: 403, says: "only who sits at this machine"},
		"a link":          {method: "GET", status: 405},
		"nobody":          {node: "node-<b>", status: 404, says: "there is no node"},
		"no node":         {node: "-", status: 404, says: "there is no node"},
		"a failure":       {breaks: errors.New("disk full"), status: 500, says: "kill node-2: disk full"},
	} {
		t.Run(name, func(t *testing.T) {
			m, c, _ := newMortals()
			m.breaks = test.breaks
			h := operators((&site{c.board, m, c}).change(c.kill, "killed"))
			mux := http.NewServeMux()
			mux.Handle("POST /kill", h)
			if test.method == "" {
				test.method = "POST"
			}
			if test.node == "" {
				test.node = "node-2"
			}
			r := httptest.NewRequest(test.method, "http://127.0.0.1:8080/kill",
				strings.NewReader(url.Values{"node": {test.node}}.Encode()))
			if name == "curl" {
				r = httptest.NewRequest("POST", "http://127.0.0.1:8080/kill?node=node-2", nil)
			}
			if r.RemoteAddr = "127.0.0.1:5000"; test.header != nil {
				r.Header = test.header
			}
			if r.Header.Set("Content-Type", form); test.host != "" {
				r.Host = test.host
			}
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.says) {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, test.status, test.says)
			}
			if killed := len(m.alive) < 2; killed != (test.status == 303 || test.breaks != nil) {
				t.Errorf("killed: %t", killed)
			}
			if kind := w.Header().Get("Content-Type"); strings.Contains(kind, "html") {
				t.Errorf("an answer that shows what was asked is %s", kind)
			}
			if test.status == 303 && w.Header().Get("Location") != "./" {
				t.Errorf("leads to %q", w.Header().Get("Location"))
			}
		})
	}
}
