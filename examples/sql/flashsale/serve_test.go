package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/examples/internal/cli"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
)

// awaitText returns when the command has printed a text.
func awaitText(t *testing.T, out *testsync.Log, text string) {
	t.Helper()
	testsync.Eventually(t, "it prints "+text, func() bool { return strings.Contains(out.String(), text) })
}

func post(t *testing.T, url string) (status int, body string) {
	t.Helper()
	resp, err := http.Post(url, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

// Without requests of its own the command is the service, until it is interrupted.
func TestRun_serves(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	ctx, interrupt := context.WithCancel(t.Context())
	out := &testsync.Log{}
	done := make(chan int, 1)
	go func() { done <- run(ctx, strings.Fields("-requests 0 -instances 1 -stock 2"), out, io.Discard) }()
	awaitText(t, out, "/orders?user=7")
	url := regexp.MustCompile(`http://[^?]+`).FindString(out.String())
	for _, step := range []struct {
		query  string
		status int
		body   string
	}{
		{"?user=7", http.StatusCreated, "ordered"},
		{"?user=7", http.StatusConflict, "already ordered"},
		{"?user=-8", http.StatusCreated, "ordered"},
		{"?user=9", http.StatusGone, "sold out"},
		{"?user=", http.StatusBadRequest, "user is missing or no number: POST /orders?user=7"},
		{"", http.StatusBadRequest, "user is missing or no number: POST /orders?user=7"},
	} {
		if status, body := post(t, url+step.query); status != step.status || body != step.body {
			t.Errorf("POST %s: %d %s, want %d %s", step.query, status, body, step.status, step.body)
		}
	}
	interrupt()
	if code := <-done; code != cli.OK {
		t.Errorf("exit status %d", code)
	}
	result{stdout: out.String()}.want(t, 0, 2)
}

// An interrupted load still counts and cleans up.
func TestRun_interrupted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var stderr strings.Builder
	if code := run(canceled(), nil, io.Discard, &stderr); code != cli.Failed ||
		!strings.Contains(stderr.String(), "context canceled") {
		t.Errorf("exit status %d: %s", code, stderr.String())
	}
}

func TestOrdersHandler_errors(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status int
	}{
		{&lockrt.BusyError{Key: "stock"}, http.StatusServiceUnavailable},
		{fmt.Errorf("wrapped: %w", lockrt.ErrLost), http.StatusServiceUnavailable},
		{&fence.StaleError{Resource: "stock"}, http.StatusServiceUnavailable},
		{errors.New("disk full"), http.StatusInternalServerError},
	} {
		w := httptest.NewRecorder()
		place := func(context.Context, int64) (outcome, error) { return "", tt.err }
		ordersHandler(place).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/orders?user=1", nil))
		if w.Code != tt.status || (w.Header().Get("Retry-After") != "") != (tt.status == http.StatusServiceUnavailable) {
			t.Errorf("%v: %d, want %d", tt.err, w.Code, tt.status)
		}
	}
}
