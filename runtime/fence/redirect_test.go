package fence_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
)

// recorder is a server that tells the fences of the requests it got.
func recorder(t *testing.T, fences *[]string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		*fences = append(*fences, r.Header.Get(fence.Header))
	}))
	t.Cleanup(server.Close)
	return server
}

// redirecting is a server that sends its requests on to where they ask for; one that has arrived it answers.
func redirecting(t *testing.T, fences *[]string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*fences = append(*fences, r.Header.Get(fence.Header))
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestTransport_redirect(t *testing.T) {
	lease := acquire(t, newLocker(t), "a")
	f := lease.Fence().String()
	for name, own := range map[string][]string{"of the lease": nil, "of the caller": {f}} {
		t.Run(name, func(t *testing.T) {
			var here, there []string
			first, other := redirecting(t, &here), recorder(t, &there)
			client := &http.Client{Transport: &fence.Transport{Base: first.Client().Transport}}
			if _, _, err := put(t, client, lease.Context(), first.URL+"/x?to=/y", own...); err != nil {
				t.Fatal(err)
			}
			if len(here) != 2 || here[0] != f || here[1] != f {
				t.Errorf("a redirect within the host carried %q, want %s twice", here, f)
			}
			if _, _, err := put(t, client, lease.Context(), first.URL+"/x?to="+other.URL, own...); err != nil {
				t.Fatal(err)
			}
			if len(there) != 1 || there[0] != "" {
				t.Errorf("another host got the fences %q", there)
			}
			// The second redirect of a chain, after one within the host.
			if _, _, err := put(t, client, lease.Context(), first.URL+"/x?to=/x%3Fto="+other.URL, own...); err != nil {
				t.Fatal(err)
			}
			if there[1] != "" {
				t.Errorf("after two redirects another host got the fence %q", there[1])
			}
			required := &http.Client{Transport: &fence.Transport{Base: first.Client().Transport, Required: true}}
			_, _, err := put(t, required, lease.Context(), first.URL+"/x?to="+other.URL, own...)
			if !errors.Is(err, fence.ErrInvalid) || len(there) != 2 {
				t.Errorf("Required: %v, and the other host got %q", err, there)
			}
		})
	}
}

func TestTransport_severalLeases(t *testing.T) {
	url, _ := newServer(t, false)
	locks := newLocker(t)
	if err := locks.DoAll(t.Context(), []string{"/a", "b"}, lockrt.Options{TTL: time.Minute},
		func(ctx context.Context, leases lockrt.Leases) error {
			byPath := &http.Client{Transport: &fence.Transport{}}
			defer byPath.CloseIdleConnections()
			if _, body, err := put(t, byPath, ctx, url+"/a"); err != nil || body != leases.Lease("/a").Fence().String() {
				t.Errorf("the lock called like the path: %q, %v", body, err)
			}
			if _, _, err := put(t, byPath, ctx, url+"/z"); !errors.Is(err, fence.ErrInvalid) {
				t.Errorf("no lock called like the path: %v", err)
			}
			named := &http.Client{Transport: &fence.Transport{Resource: func(*http.Request) string { return "b" }}}
			if _, body, err := put(t, named, ctx, url+"/z"); err != nil || body != leases.Lease("b").Fence().String() {
				t.Errorf("the lock that Resource names: %q, %v", body, err)
			}
			return nil
		}); err != nil {
		t.Error(err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}
