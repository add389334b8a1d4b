package fence_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lockgen/lockgen/internal/testsync"
	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/fence/internal/fencetest"
	"github.com/lockgen/lockgen/runtime/fence/redisfence"
)

// passed answers 200 with the fence that the middleware handed on.
var passed = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, fence.Received(r.Context()).String())
})

// send returns status, body and header of a request; fences are the values of the header.
func send(h http.Handler, method, path string, fences ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for _, f := range fences {
		r.Header.Add("Lock-Fence", f)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

type failing struct{ err error }

func (s failing) Check(context.Context, string, lockrt.Fence) error { return s.err }

func TestMiddleware_statuses(t *testing.T) {
	h := fence.Middleware{}.Wrap(passed)
	for _, c := range []struct {
		name, method, path string
		fences             []string
		status             int
		body               string // all of it where the request passes, else a part of detail
	}{
		{"first", "PUT", "/a", []string{"34"}, 200, "34"},
		{"equal", "POST", "/a", []string{"34"}, 200, "34"},
		{"stale", "PUT", "/a", []string{"33"}, 412, "has seen 34"},
		{"stale read", "GET", "/a", []string{"33"}, 412, "has seen 34"},
		{"other resource", "PUT", "/b", []string{"33"}, 200, "33"},
		{"higher", "DELETE", "/a", []string{"35"}, 200, "35"},
		{"stale by now", "DELETE", "/a", []string{"34"}, 412, "has seen 35"},
		{"missing", "PUT", "/a", nil, 428, "Lock-Fence"},
		{"missing in a read", "GET", "/a", nil, 200, "0"},
		{"malformed", "PUT", "/a", []string{"x"}, 400, `is "x"`},
		{"malformed read", "GET", "/a", []string{""}, 400, "decimal digits"},
		{"twice", "PUT", "/a", []string{"36", "36"}, 400, "2 times"},
		{"too large", "PUT", "/a", []string{"9223372036854775808"}, 400, "2^63-1"},
		{"resource too long", "PUT", "/" + strings.Repeat("a", 600), []string{"36"}, 400, "601 bytes"},
	} {
		w := send(h, c.method, c.path, c.fences...)
		if w.Code != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.name, w.Code, c.status, w.Body)
			continue
		}
		if c.status == 200 {
			if w.Body.String() != c.body {
				t.Errorf("%s: body %q, want %q", c.name, w.Body, c.body)
			}
			continue
		}
		var problem struct {
			Title, Detail string
			Status        int
		}
		if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %v, %s", c.name, err, w.Header())
		}
		if problem.Status != c.status || problem.Title == "" || !strings.Contains(problem.Detail, c.body) {
			t.Errorf("%s: problem %+v", c.name, problem)
		}
	}
}

func TestMiddleware_staleNamesTheHighest(t *testing.T) {
	h := fence.Middleware{MaxAhead: -1}.Wrap(passed)
	send(h, "PUT", "/a", "9223372036854775807")
	w := send(h, "PUT", "/a", "9223372036854775806")
	var problem struct{ Resource, Given, Highest string }
	if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil {
		t.Fatal(err)
	}
	if problem.Resource != "/a" || problem.Given != "9223372036854775806" || problem.Highest != "9223372036854775807" {
		t.Errorf("problem %+v", problem)
	}
	if got := w.Header().Get("Lock-Fence"); got != problem.Highest {
		t.Errorf("header Lock-Fence %q", got)
	}
}

func TestMiddleware_ResourceAndRequired(t *testing.T) {
	h := fence.Middleware{
		Resource: func(r *http.Request) string {
			order, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/orders/"), "/")
			return order
		},
		Required: func(r *http.Request) bool { return r.Method == "GET" },
	}.Wrap(passed)
	for _, c := range []struct {
		method, path string
		fences       []string
		status       int
	}{
		{"PUT", "/orders/42", []string{"7"}, 200},
		{"PUT", "/orders/42/items", []string{"6"}, 412},
		{"PUT", "/orders/42", nil, 200},
		{"GET", "/orders/42", nil, 428},
		{"PUT", "/orders/", []string{"rubbish"}, 200}, // not protected
	} {
		if w := send(h, c.method, c.path, c.fences...); w.Code != c.status {
			t.Errorf("%s %s %v: status %d, want %d", c.method, c.path, c.fences, w.Code, c.status)
		}
	}
}

// A forged fence blocks nobody for longer than MaxAhead.
func TestMiddleware_MaxAhead(t *testing.T) {
	at := func(ahead time.Duration) string {
		return lockrt.FenceOf(uint64(time.Now().Add(ahead).UnixMicro())).String()
	}
	const hour, margin = time.Hour, 10 * time.Minute
	for _, c := range []struct {
		maxAhead time.Duration
		fence    string
		status   int
	}{
		{0, "9223372036854775807", 400},
		{0, at(hour + margin), 400},
		{0, at(hour - margin), 200},
		{0, at(0), 200},
		{0, at(-1000 * hour), 200},
		{0, "1", 200},
		{3 * hour, at(3*hour - margin), 200},
		{3 * hour, at(3*hour + margin), 400},
		{-1, "9223372036854775807", 200},
	} {
		var log testsync.Log
		h := fence.Middleware{MaxAhead: c.maxAhead, Logger: log.Logger()}.Wrap(passed)
		w := send(h, "PUT", "/a", c.fence)
		if w.Code != c.status {
			t.Errorf("MaxAhead %s, fence %s: status %d, want %d: %s", c.maxAhead, c.fence, w.Code, c.status, w.Body)
		}
		if refused := c.status == 400; refused != strings.Contains(log.String(), "fence="+c.fence) {
			t.Errorf("fence %s: the log says %q", c.fence, log.String())
		}
		if next := send(h, "PUT", "/a", at(hour-margin)); c.status == 400 && next.Code != 200 {
			t.Errorf("after a refused fence the next holder got %d", next.Code)
		}
	}
}

// What a client sends does not fill the responses.
func TestMiddleware_refusalsAreShort(t *testing.T) {
	h := fence.Middleware{}.Wrap(passed)
	for name, fences := range map[string][]string{
		"missing": nil, "malformed": {strings.Repeat("x", 5000)}, "too long a path": {"7"},
	} {
		w := send(h, "PUT", "/"+strings.Repeat("é", 3000), fences...)
		if w.Code != 428 && w.Code != 400 || w.Body.Len() > 600 {
			t.Errorf("%s: status %d, %d bytes", name, w.Code, w.Body.Len())
		}
		if !utf8.Valid(w.Body.Bytes()) || strings.Contains(w.Body.String(), "\ufffd") {
			t.Errorf("%s: a character is cut in two: %s", name, w.Body)
		}
	}
}

func TestMiddleware_stateErrors(t *testing.T) {
	var log strings.Builder
	for name, c := range map[string]struct {
		err    error
		status int
	}{
		"down":        {errors.New("connection refused, password hunter2"), 503},
		"plain stale": {fence.ErrStale, 412},
	} {
		log.Reset()
		h := fence.Middleware{State: failing{c.err}, Logger: slog.New(slog.NewTextHandler(&log, nil))}.Wrap(passed)
		w := send(h, "PUT", "/a", "7")
		if w.Code != c.status {
			t.Errorf("%s: status %d", name, w.Code)
		}
		if strings.Contains(w.Body.String(), "hunter2") {
			t.Errorf("%s: the client is told %s", name, w.Body)
		}
		if logged := strings.Contains(log.String(), "connection refused"); logged != (c.status == 503) {
			t.Errorf("%s: logged %q", name, log.String())
		}
	}
}

func TestMiddleware_concurrentRequests(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: testenv.Redis(t).Addr()})
	t.Cleanup(func() { _ = client.Close() })
	r := redisfence.Redis{Client: client}
	for name, state := range map[string]fence.State{"memory": nil, "redis": r} {
		t.Run(name, func(t *testing.T) {
			h := fence.Middleware{State: state}.Wrap(passed)
			fencetest.Order(t, 200, 8, func(f lockrt.Fence) error {
				w := send(h, "PUT", "/a", f.String())
				switch w.Code {
				case 200:
					return nil
				case 412:
					return fence.ErrStale
				}
				return errors.New(w.Body.String())
			}, func(error) bool { return false })
		})
	}
}
