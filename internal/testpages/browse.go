package testpages

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// pages is a browser on the dashboard.
type pages struct {
	t      *testing.T
	server *httptest.Server
}

// shows returns a page that must have some texts.
func (p *pages) shows(path string, texts ...string) string {
	t := p.t
	t.Helper()
	r, err := p.server.Client().Get(p.server.URL + "/" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v\n%s", path, r.Status, err, text)
	}
	for _, want := range texts {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not say %q:\n%s", path, want, text)
		}
	}
	return string(text)
}

// hidden is the value of a hidden field.
func (p *pages) hidden(page, name string) string {
	p.t.Helper()
	_, rest, ok := strings.Cut(page, `name="`+name+`" value="`)
	value, _, end := strings.Cut(rest, `"`)
	if !ok || !end {
		p.t.Fatalf("there is no field %q:\n%s", name, page)
	}
	return value
}

// send posts a form as a page of the dashboard does.
func (p *pages) send(path string, form url.Values) {
	t := p.t
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.server.URL+"/"+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	r, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if text, _ := io.ReadAll(r.Body); r.StatusCode != http.StatusSeeOther {
		t.Errorf("%s: %s\n%s", path, r.Status, text)
	}
}
