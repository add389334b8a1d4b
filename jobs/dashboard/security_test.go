package dashboard

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func queryEscape(s string) string { return url.QueryEscape(s) }

// actions are the forms that change something, as the pages of busyFake send them.
var actions = [][]string{
	{"run-now", "name", "index"}, {"again", "id", "report@7"}, {"pause", "name", "index", "reason", "why"}, {"resume", "name", "carts"},
	{"cancel", "id", "index@1", "reason", "why"}, {"break", "key", "job:index", "holder", "17", "reason", "why"},
	{"withdraw", "id", "welcome-42"},
}

func as(name string, role Role, err error) Config {
	return Config{Authorize: func(*http.Request) (User, error) { return User{name, role}, err }}
}

func TestHandler_readOnly(t *testing.T) {
	for who, cfg := range map[string]Config{"nobody": {}, "a viewer": as("bob", RoleViewer, nil)} {
		f := busyFake()
		h := f.serve(cfg)
		for _, page := range allPages {
			w := get(h, page)
			expect(t, w, 200)
			for _, action := range []string{"run-now", "again?", "pause?", "resume?", "cancel?", "break?", "withdraw?"} {
				if strings.Contains(w.Body.String(), `"`+action) {
					t.Errorf("%s is offered %s on %q", who, action, page)
				}
			}
		}
		for i, action := range actions {
			expect(t, get(h, actionPages[i]), 403)
			expect(t, post(h, action[0], action[1:]...), 403)
		}
		if len(f.done) > 0 {
			t.Errorf("%s did %q", who, f.done)
		}
	}
	expect(t, get(busyFake().serve(Config{}), "pause?name=index"), 403, "read-only", "Set Authorize")
	expect(t, get(busyFake().serve(as("bob", RoleViewer, nil)), "pause?name=index"), 403, "“bob” with the role viewer")
}

func TestHandler_notAuthorized(t *testing.T) {
	for name, cfg := range map[string]Config{
		"error":                  as("ada", RoleOperator, errors.New("secret reason")),
		"no role":                as("ada", "", nil),
		"a role that is unknown": as("ada", "admin", nil),
	} {
		f := busyFake()
		h := f.serve(cfg)
		others := []string{"job?name=gone", "theme", "no-such-page", "jobs?q=" + strings.Repeat("x", maxAddress)}
		for _, page := range slices.Concat(allPages, actionPages, others) {
			w := get(h, page)
			if page == "theme" {
				w = post(h, page, "theme", "dark")
			}
			expect(t, w, 403, "You may not see this")
			for _, leak := range []string{"by <b>", "node-1", "node-2", "the shop is closed", "secret reason", "Overview"} {
				if strings.Contains(w.Body.String(), leak) {
					t.Errorf("%s: %q shows %q", name, page, leak)
				}
			}
		}
		for _, action := range actions {
			expect(t, post(h, action[0], action[1:]...), 403)
		}
		if len(f.done) > 0 || len(f.asked) > 0 {
			t.Errorf("%s: did %q, asked %v", name, f.done, f.asked)
		}
	}
}

// TestHandler_otherOrigin sends every form as a page of another site could.
func TestHandler_otherOrigin(t *testing.T) {
	f := busyFake()
	h := f.serve(operator)
	for _, forge := range []http.Header{
		{"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}},
		{"Origin": {"https://evil.example"}}, {"Origin": {"null"}}, {"Origin": {"http://example.com.evil.example"}},
	} {
		for _, action := range append(actions, []string{"theme", "theme", "dark"}) {
			values := url.Values{}
			for i := 1; i < len(action); i += 2 {
				values.Set(action[i], action[i+1])
			}
			r := httptest.NewRequest("POST", "/jobs/"+action[0], strings.NewReader(values.Encode()))
			r.Header = forge.Clone()
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			expect(t, w, 403, "Request from another site refused")
			if w.Header().Get("Set-Cookie") != "" {
				t.Errorf("%s sets a cookie", action[0])
			}
		}
	}
	// Nor may a request leave out where it is sent to.
	for _, origin := range []string{"null", "https://", "https://evil.example"} {
		r := httptest.NewRequest("POST", "/jobs/run-now", strings.NewReader("name=index"))
		r.Host, r.Header = "", http.Header{"Origin": {origin}, "Content-Type": {"application/x-www-form-urlencoded"}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		expect(t, w, 403, "Request from another site refused")
	}
	if len(f.done) > 0 {
		t.Errorf("did %q", f.done)
	}
}

func TestHandler_actionsNeedPOST(t *testing.T) {
	f := busyFake()
	h := f.serve(operator)
	for _, action := range actions {
		var query []string
		for i := 1; i < len(action); i += 2 {
			query = append(query, action[i]+"="+queryEscape(action[i+1]))
		}
		get(h, action[0]+"?"+strings.Join(query, "&"))
	}
	// What a form says counts, not what the address says.
	post(h, "pause?name=index&reason=why")
	if len(f.done) > 0 {
		t.Errorf("did %q", f.done)
	}
	if post(h, "resume?name=carts"); slices.ContainsFunc(f.done,
		func(done string) bool { return strings.Contains(done, "carts") }) {
		t.Errorf("did %q", f.done)
	}
}

func TestHandler_methods(t *testing.T) {
	h := busyFake().serve(operator)
	for request, allow := range map[string]string{
		"PUT ": "GET, HEAD", "POST jobs": "GET, HEAD", "DELETE pause": "GET, HEAD, POST", "GET theme": "POST",
		"POST style.css": "GET, HEAD",
	} {
		method, page, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/jobs/"+page, nil))
		if w.Code != 405 || w.Header().Get("Allow") != allow {
			t.Errorf("%s: %d, Allow %q, want %q", request, w.Code, w.Header().Get("Allow"), allow)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("HEAD", "/jobs/", nil))
	if w.Code != 200 || w.Body.Len() > 0 || w.Header().Get("Content-Length") == "" {
		t.Errorf("HEAD: %d, %d bytes", w.Code, w.Body.Len())
	}
}

func TestHandler_headers(t *testing.T) {
	f := busyFake()
	h := f.serve(operator)
	answers := map[string]*httptest.ResponseRecorder{"action": post(h, "resume", "name", "carts")}
	for _, page := range slices.Concat(allPages, actionPages, []string{"nonsense", "style.css", "app.js", "icon.svg"}) {
		answers[page] = get(h, page)
	}
	f.down = errDown
	answers["down"] = get(f.serve(operator), "")
	answers["refused"] = get(f.serve(Config{}), "pause")
	for page, w := range answers {
		csp := w.Header().Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'",
			"form-action 'self'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s: the policy %q lacks %s", page, csp, part)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") || strings.Contains(csp, "http") {
			t.Errorf("%s: the policy allows too much: %s", page, csp)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q", page, name, got)
			}
		}
		if _, isAsset := assets[page]; !isAsset && w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: Cache-Control %q", page, w.Header().Get("Cache-Control"))
		}
		// The policy forbids these, so a page that has them is broken.
		for _, inline := range []string{" style=", "<style", "onclick", "javascript:", "<script>"} {
			if strings.Contains(w.Body.String(), inline) && page != "app.js" {
				t.Errorf("%s has %s", page, inline)
			}
		}
	}
}

// A proxy that rewrites Host: what a form says is refused with what was compared, and accepted from a trusted origin.
func TestHandler_trustedOrigins(t *testing.T) {
	send := func(cfg Config, origin, site string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "http://10.0.0.7:8080/jobs/resume", strings.NewReader("name=carts"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
		if site != "" {
			r.Header.Set("Sec-Fetch-Site", site)
		}
		w := httptest.NewRecorder()
		busyFake().serve(cfg).ServeHTTP(w, r)
		return w
	}
	expect(t, send(operator, "https://ops.example.com", ""), 403, "“https://ops.example.com” (header Origin)",
		"“10.0.0.7:8080” (header Host)", "into Config.TrustedOrigins")
	expect(t, send(operator, "https://evil.example", "cross-site"), 403, "header Sec-Fetch-Site is “cross-site”",
		"Header Origin is “https://evil.example”", "header Host is “10.0.0.7:8080”")
	trusting := operator
	trusting.TrustedOrigins = []string{"https://ops.example.com"}
	expect(t, send(trusting, "https://ops.example.com", ""), 303)
	expect(t, send(trusting, "https://ops.example.com", "same-site"), 303)
	expect(t, send(trusting, "https://evil.example", ""), 403)
	for _, written := range []string{"HTTPS://Ops.Example.com", "https://ops.example.com:443", "https://ops.example.com/", " https://ops.example.com"} {
		trusting.TrustedOrigins = []string{written}
		expect(t, send(trusting, "https://ops.example.com", ""), 303)
		expect(t, send(trusting, "https://ops.example.com:444", ""), 403)
		expect(t, send(trusting, "http://ops.example.com", ""), 403)
	}
	trusting.TrustedOrigins = []string{"http://[::1]:80"}
	expect(t, send(trusting, "http://[::1]", ""), 303)
	trusting.TrustedOrigins = []string{"https://xn--bcher-kva.example"}
	expect(t, send(trusting, "https://xn--bcher-kva.example", ""), 303)
	for _, none := range []string{
		"https://ops.example.com/path", "https://*.example.com", "https://u@ops.example.com", "https://ops.example.com:", "https://bücher.example",
		"https://b%C3%BCcher.example", "https://ops.example.com:99999", "https://ops.example.com?x", "ops.example.com", "ops.example.com:443",
		"//ops.example.com", "https://", "null", "",
	} {
		func() {
			defer func() {
				if why := fmt.Sprint(recover()); !strings.Contains(why, "TrustedOrigins") || !strings.Contains(why, none) {
					t.Errorf("%q: %s", none, why)
				}
			}()
			trusting.TrustedOrigins = []string{none}
			busyFake().serve(trusting)
		}()
	}
}

// A Challenge makes the browser ask and shows nothing. It is no line in the log if there is nothing to say: browsers come
// without a password first.
func TestHandler_challenge(t *testing.T) {
	var log bytes.Buffer
	f := busyFake()
	cfg := as("", "", Challenge(`Basic realm="jobs"`))
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	d := newDashboard(f, f, cfg)
	for _, w := range []*httptest.ResponseRecorder{get(d, ""), get(d, "pause?name=index"), post(d, "pause", "name", "index")} {
		expect(t, w, 401, "Please sign in")
		if w.Header().Get("WWW-Authenticate") != `Basic realm="jobs"` || strings.Contains(w.Body.String(), "Overview") {
			t.Errorf("%v\n%s", w.Header(), w.Body)
		}
	}
	if log.Len() > 0 || len(f.asked) > 0 {
		t.Errorf("asked %v, logged %s", f.asked, &log)
	}
	r := httptest.NewRequest("GET", "/jobs/", nil)
	r.SetBasicAuth("mallory", "guessed")
	w := httptest.NewRecorder()
	if d.ServeHTTP(w, r); w.Code != 401 || strings.Count(log.String(), "dashboard request refused") != 1 {
		t.Errorf("%d for a wrong password, logged %q", w.Code, &log)
	}
	d.cfg.Authorize = as("", "", fmt.Errorf("the session has ended: %w", Challenge(`Basic realm="jobs"`))).Authorize
	expect(t, get(d, ""), 401, "Please sign in")
	if !strings.Contains(log.String(), "the session has ended") {
		t.Errorf("logged %q", &log)
	}
}

// What Authorize takes is not the store's.
func TestHandler_authorizeSlowerThanAPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := busyFake()
		h := f.serve(Config{Authorize: func(*http.Request) (User, error) {
			time.Sleep(2 * storeTimeout)
			return User{Name: "ada", Role: RoleViewer}, nil
		}})
		if w := get(h, "jobs"); w.Code != 200 || f.count("page") != 1 {
			t.Errorf("status %d, asked %d times\n%s", w.Code, f.count("page"), w.Body)
		}
	})
}
