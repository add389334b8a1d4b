package fence_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
)

// newServer returns a server behind the middleware, and a client that sends fences.
func newServer(t *testing.T, required bool) (url string, client *http.Client) {
	t.Helper()
	server := httptest.NewServer(fence.Middleware{}.Wrap(passed))
	t.Cleanup(server.Close)
	return server.URL, &http.Client{Transport: &fence.Transport{Base: server.Client().Transport, Required: required}}
}

func put(t *testing.T, client *http.Client, ctx context.Context, url string, fences ...string) (*http.Response, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, strings.NewReader("data"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fences {
		req.Header.Add(fence.Header, f)
	}
	before := req.Header.Clone()
	resp, err := client.Do(req)
	if len(before.Values(fence.Header)) != len(req.Header.Values(fence.Header)) {
		t.Error("the caller's request was changed")
	}
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body), nil
}

func TestTransport_carriesTheFence(t *testing.T) {
	url, client := newServer(t, false)
	locks := newLocker(t)
	old := acquire(t, locks, "a")
	resp, body, err := put(t, client, old.Context(), url)
	if err != nil || resp.StatusCode != 200 || body != old.Fence().String() || fence.ResponseError(resp) != nil {
		t.Fatalf("first holder: %v, %q, %v", resp, body, err)
	}
	if err := old.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := acquire(t, locks, "a")
	if resp, body, err := put(t, client, next.Context(), url); err != nil || body != next.Fence().String() {
		t.Fatalf("next holder: %v, %q, %v", resp, body, err)
	}
	resp, _, err = put(t, client, t.Context(), url, old.Fence().String()) // as if it had been on its way all the time
	if err != nil {
		t.Fatal(err)
	}
	var stale *fence.StaleError
	if err := fence.ResponseError(resp); !errors.As(err, &stale) || stale.Given != old.Fence() || stale.Highest != next.Fence() {
		t.Errorf("late write: status %d, %v", resp.StatusCode, err)
	}
}

// closeNotice says whether the body was closed.
type closeNotice struct {
	io.Reader
	closed bool
}

func (c *closeNotice) Close() error { c.closed = true; return nil }

func TestTransport_sendsNothingAfterTheLease(t *testing.T) {
	locks := newLocker(t)
	lease := acquire(t, locks, "a")
	if err := locks.Break(t.Context(), "a", "test"); err != nil {
		t.Fatal(err)
	}
	<-lease.Done()
	body := &closeNotice{Reader: strings.NewReader("data")}
	req, err := http.NewRequestWithContext(lease.Context(), http.MethodPut, "http://127.0.0.1:1/a", body)
	if err != nil {
		t.Fatal(err)
	}
	// RoundTrip itself: http.Client looks at the context first.
	_, err = (&fence.Transport{}).RoundTrip(req)
	if !errors.Is(err, lockrt.ErrLost) || !errors.Is(err, lockrt.ErrNotHeld) {
		t.Errorf("error = %v", err)
	}
	if !body.closed {
		t.Error("the body stays open")
	}
}

func TestTransport_withoutALease(t *testing.T) {
	url, client := newServer(t, false)
	resp, body, err := put(t, client, t.Context(), url)
	if err != nil || resp.StatusCode != http.StatusPreconditionRequired || fence.ResponseError(resp) != nil {
		t.Errorf("not required: %v, %q, %v", resp, body, err)
	}
	url, client = newServer(t, true)
	if _, _, err := put(t, client, t.Context(), url); !errors.Is(err, lockrt.ErrNotHeld) {
		t.Errorf("required: %v", err)
	}
	resp, body, err = put(t, client, t.Context(), url, "77")
	if err != nil || body != "77" {
		t.Errorf("required, with the caller's own header: %v, %q, %v", resp, body, err)
	}
}
