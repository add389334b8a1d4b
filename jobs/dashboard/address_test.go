package dashboard

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var links = regexp.MustCompile(`(href|src|action)="([^"]*)"`)

// TestHandler_anyPath serves the dashboard in all the ways that move it, and goes to every link of every page as a
// browser would.
func TestHandler_anyPath(t *testing.T) {
	h := busyFake().serve(operator)
	mounted, stripped := http.NewServeMux(), http.NewServeMux()
	mounted.Handle("/jobs/", h)
	stripped.Handle("/admin/jobs/", http.StripPrefix("/admin/jobs", h))
	proxy := http.StripPrefix("/far/away", h) // what a proxy does that cuts its own path
	root := http.NewServeMux()
	root.Handle("/", h)
	for base, server := range map[string]http.Handler{"/jobs/": mounted, "/admin/jobs/": stripped, "/far/away/": proxy,
		"/": root} {
		for _, page := range slices.Concat(allPages, actionPages) {
			address, err := url.Parse("http://host" + base + page)
			if err != nil {
				t.Fatal(err)
			}
			body := visit(server, "GET", address.String())
			expect(t, body, 200)
			for _, link := range links.FindAllStringSubmatch(body.Body.String(), -1) {
				to, err := address.Parse(strings.ReplaceAll(link[2], "&amp;", "&"))
				if err != nil || !strings.HasPrefix(to.String(), "http://host"+base) {
					t.Fatalf("%s links to %q, which leads to %v, %v", address, link[2], to, err)
				}
				if to.Fragment = ""; link[1] == "action" {
					continue // is sent to with POST
				}
				if w := visit(server, "GET", to.String()); w.Code != 200 {
					t.Errorf("%s links to %s: %d", address, to, w.Code)
				}
			}
		}
		action := visit(server, "POST", "http://host"+base+"resume", "name", "carts")
		if to, err := url.Parse(action.Header().Get("Location")); err != nil || action.Code != 303 || to.IsAbs() ||
			strings.HasPrefix(to.Path, "/") {
			t.Errorf("%s: an action leads to %q with status %d", base, action.Header().Get("Location"), action.Code)
		}
	}
}

// A router may take the last slash off with the path before it.
func TestHandler_strippedSlash(t *testing.T) {
	h := busyFake().serve(operator)
	for base, prefix := range map[string]string{"/": "/", "/jobs/": "/jobs/"} {
		stripped := http.StripPrefix(prefix, h)
		for _, page := range []string{"", "?live=1", "jobs", "job?name=index"} {
			if w := visit(stripped, "GET", "http://host"+base+page); w.Code != 200 {
				t.Errorf("%s%s without %s: %d %q", base, page, prefix, w.Code, w.Header().Get("Location"))
			}
		}
	}
}

func visit(h http.Handler, method, address string, form ...string) *httptest.ResponseRecorder {
	values := url.Values{}
	for i := 0; i < len(form); i += 2 {
		values.Set(form[i], form[i+1])
	}
	r := httptest.NewRequest(method, address, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Routers that say by which pattern they came here do so in different ways: chi with a star, and without it for the mount itself.
func TestPageName_patterns(t *testing.T) {
	for _, c := range []struct {
		path, pattern, name string
		ok                  bool
	}{
		{"/ops/jobs", "/ops/jobs", "jobs/", false}, // chi.Mount, as the two below
		{"/ops/jobs/", "/ops/jobs", "", true},
		{"/ops/jobs/locks", "/ops/jobs/*", "locks", true},
		{"/ops/jobs/jobs", "/ops/jobs/*", "jobs", true},
		{"/ops/acme/jobs", "/ops/{tenant}/jobs", "jobs/", false},
		{"/ops/acme", "/ops/{tenant}", "acme", true}, // nobody knows
		{"/ops/jobs/locks", "/ops/jobs/{page...}", "locks", true},
		{"/ops/jobs/locks", "/ops/jobs/:page", "locks", true},
		{"/ops/jobs/locks", "/ops/jobs/*any", "locks", true},
		{"/ops/jobs", "GET ops.example.com/ops/jobs", "jobs/", false},
		{"/ops/jobs/locks", "", "locks", true}, // gin, gorilla, echo say nothing; gin and ServeMux redirect by themselves
	} {
		r := httptest.NewRequest("GET", "http://host"+c.path, nil)
		r.Pattern = c.pattern
		if name, ok := pageName(r); name != c.name || ok != c.ok {
			t.Errorf("%s by pattern %q is page %q, %t; want %q, %t", c.path, c.pattern, name, ok, c.name, c.ok)
		}
	}
}

// A pattern for one form is no mount of the dashboard.
func TestHandler_onePage(t *testing.T) {
	f := busyFake()
	h, mux := f.serve(operator), http.NewServeMux()
	mux.Handle("GET /jobs/", h)
	mux.Handle("POST /jobs/pause", h)
	if w := visit(mux, "POST", "http://host/jobs/pause", "name", "index", "reason", "why"); w.Code != 303 || len(f.done) != 1 {
		t.Errorf("%d to %q, did %q", w.Code, w.Header().Get("Location"), f.done)
	}
}

// Mounted without a trailing slash it redirects, since relative links would go astray.
func TestHandler_withoutSlash(t *testing.T) {
	h := busyFake().serve(operator)
	mounts := map[string]func(*http.ServeMux){
		"stripped":       func(m *http.ServeMux) { m.Handle("/ops/jobs", http.StripPrefix("/ops/jobs", h)) },
		"whole path":     func(m *http.ServeMux) { m.Handle("/ops/jobs", h) },
		"with a method":  func(m *http.ServeMux) { m.Handle("GET /ops/jobs", h) },
		"with a host":    func(m *http.ServeMux) { m.Handle("host/ops/jobs", h) },
		"by the mux":     func(m *http.ServeMux) { m.Handle("/ops/jobs/", h) },
		"two patterns":   func(m *http.ServeMux) { m.Handle("/ops/jobs", h); m.Handle("/ops/jobs/", h) },
		"with a pattern": func(m *http.ServeMux) { m.Handle("/ops/jobs/{page...}", h) },
	}
	for name, mount := range mounts {
		mux := http.NewServeMux()
		mount(mux)
		w := visit(mux, "GET", "http://host/ops/jobs?live=1")
		from, err := url.Parse("http://host/ops/jobs")
		if err != nil {
			t.Fatal(err)
		}
		to, err := from.Parse(w.Header().Get("Location"))
		if err != nil || w.Code/100 != 3 || to.String() != "http://host/ops/jobs/?live=1" {
			t.Errorf("%s: %d to %v, %v", name, w.Code, to, err)
		}
	}
	refused := http.StripPrefix("/ops/jobs", busyFake().serve(as("", "", errors.New("not signed in"))))
	expect(t, visit(refused, "GET", "http://host/ops/jobs"), 403, "You may not see this")
}

func TestHandler_theme(t *testing.T) {
	h := busyFake().serve(Config{})
	w := post(h, "theme", "theme", "dark", "back", "job?name=index")
	cookies := w.Result().Cookies()
	if w.Code != 303 || w.Header().Get("Location") != "job?name=index" || len(cookies) != 1 {
		t.Fatalf("%d to %q, %v", w.Code, w.Header().Get("Location"), cookies)
	}
	if c := cookies[0]; c.Path != "" || !c.HttpOnly || c.MaxAge <= 0 || c.SameSite != http.SameSiteLaxMode {
		t.Errorf("%+v", c)
	}
	r := httptest.NewRequest("GET", "/jobs/", nil)
	r.AddCookie(cookies[0])
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	expect(t, w, 200, `data-theme="dark"`, `<button name="theme" value="dark" aria-pressed="true"`)
	if c := post(h, "theme", "theme", "").Result().Cookies()[0]; c.MaxAge >= 0 {
		t.Errorf("the choice stays: %+v", c)
	}
	r = httptest.NewRequest("POST", "https://host/jobs/theme", strings.NewReader("theme=dark"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if c := w.Result().Cookies()[0]; !c.Secure {
		t.Errorf("over TLS: %+v", c)
	}
	r = httptest.NewRequest("GET", "/jobs/", nil)
	r.AddCookie(&http.Cookie{Name: themeCookie, Value: `x" onload="alert(1)`})
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if strings.Contains(w.Body.String(), "data-theme") {
		t.Error("a theme that is none")
	}
}

// TestHandler_theme_goesNowhereElse is about addresses that would lead to other sites.
func TestHandler_theme_goesNowhereElse(t *testing.T) {
	h := busyFake().serve(Config{})
	for _, back := range []string{"https://evil.example", "//evil.example", `\\evil.example`, "/\\evil.example",
		"javascript:alert(1)",
		"/jobs/locks", "../locks", "nonsense", "theme", "jobs\r\nX: y", "%2f%2fevil.example", "locks:80", ""} {
		if to := post(h, "theme", "theme", "light", "back", back).Header().Get("Location"); to != "./" {
			t.Errorf("%q leads to %q", back, to)
		}
	}
	for back, want := range map[string]string{"?": "./", "./": "./", "locks": "locks", "jobs?page=2": "jobs?page=2",
		"jobs?q=?": "jobs?q=?", "https://evil.example?page=2": "./?page=2", "https://evil.example": "./"} {
		if to := post(h, "theme", "theme", "light", "back", back).Header().Get("Location"); to != want {
			t.Errorf("%q leads to %q, want %q", back, to, want)
		}
	}
}

func TestAsset_caching(t *testing.T) {
	h := busyFake().serve(Config{})
	for name, kind := range map[string]string{"style.css": "text/css", "app.js": "text/javascript",
		"icon.svg": "image/svg+xml"} {
		w := get(h, name)
		if !strings.HasPrefix(w.Header().Get("Content-Type"), kind) || w.Header().Get("Cache-Control") != "no-cache" ||
			w.Body.Len() == 0 {
			t.Errorf("%s: %v", name, w.Header())
		}
		if cc := get(h, assets[name].address).Header().Get("Cache-Control"); !strings.Contains(cc, "immutable") {
			t.Errorf("%s: %q", name, cc)
		}
		if cc := get(h, name+"?v=another").Header().Get("Cache-Control"); cc != "no-cache" {
			t.Errorf("%s of another version: %q", name, cc)
		}
		r := httptest.NewRequest("GET", "/jobs/"+name, nil)
		r.Header.Set("If-None-Match", w.Header().Get("ETag"))
		again := httptest.NewRecorder()
		h.ServeHTTP(again, r)
		if again.Code != http.StatusNotModified {
			t.Errorf("%s: %d", name, again.Code)
		}
		text := strings.ReplaceAll(w.Body.String(), "http://www.w3.org/2000/svg", "")
		for _, external := range []string{"http:", "https:", "@import", "url("} {
			if strings.Contains(text, external) {
				t.Errorf("%s loads something: %s", name, external)
			}
		}
	}
}
