package etcdtest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testetcd"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/dashboard"
	jobstore "github.com/lockgen/lockgen/jobs/sqlstore"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// The page of locks lists those in etcd, asks about one, and breaks it, alone or for one of several who hold it.
func TestDashboard(t *testing.T) {
	c := start(t, 1, testetcd.Options{})
	s, err := jobs.New(newLocker(t, c, "dashboard", lockrt.Config{}), jobs.Config{
		Store: jobstore.New(jobsDatabase(t), jobstore.Config{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	operator := func(*http.Request) (dashboard.User, error) {
		return dashboard.User{Name: "ada", Role: dashboard.RoleOperator}, nil
	}
	page := httptest.NewServer(dashboard.Handler(s, dashboard.Config{Authorize: operator}))
	defer page.Close()

	a, b := newLocker(t, c, "node-a", lockrt.Config{}), newLocker(t, c, "node-b", lockrt.Config{})
	alone := acquire(t, a, "order/1", lockrt.Options{TTL: time.Minute})
	waiter := waits(t, b, "order/1")
	one := acquire(t, a, "catalog", lockrt.Options{TTL: time.Minute, Mode: lockrt.Read})
	other := acquire(t, b, "catalog", lockrt.Options{TTL: time.Minute, Mode: lockrt.Read})

	shows(t, page, "locks", "order/1", "node-a", "node-b", "catalog", "2 readers")
	shows(t, page, "locks?prefix=order", "order/1")
	ask := shows(t, page, "break?key=order%2F1", "It is held by node-a")
	send(t, page, "break", url.Values{
		"key": {"order/1"}, "holder": {hidden(t, ask, "holder")}, "reason": {"it hangs"},
	})
	<-alone.Done()
	if err := alone.Err(); !errors.Is(err, lockrt.ErrLost) || !strings.Contains(err.Error(), "it hangs (by ada)") {
		t.Errorf("the broken lease: %v", err)
	}
	release(t, <-waiter)

	info, err := b.Holder(t.Context(), "catalog")
	if err != nil || len(info.Holders) != 2 {
		t.Fatalf("%+v, %v", info, err)
	}
	for _, h := range info.Holders {
		if h.Node == "node-b" {
			send(t, page, "break", url.Values{"key": {"catalog"}, "lease": {h.ID}, "reason": {"it reads for ever"}})
		}
	}
	<-other.Done()
	if err := one.Check(t.Context()); err != nil {
		t.Errorf("the reader beside the broken one: %v", err)
	}
	release(t, one)
}

func shows(t *testing.T, page *httptest.Server, path string, texts ...string) string {
	t.Helper()
	r, err := page.Client().Get(page.URL + "/" + path)
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
func hidden(t *testing.T, page, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, `name="`+name+`" value="`)
	value, _, end := strings.Cut(rest, `"`)
	if !ok || !end {
		t.Fatalf("there is no field %q:\n%s", name, page)
	}
	return value
}

func send(t *testing.T, page *httptest.Server, path string, form url.Values) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page.URL+"/"+path, strings.NewReader(form.Encode()))
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
