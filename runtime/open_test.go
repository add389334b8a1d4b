package lockrt_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

func TestOpen_schemeOfAnyCase(t *testing.T) {
	var got []string
	lockrt.Register("Any-Case", func(_ context.Context, url string) (lockrt.Store, error) {
		got = append(got, url)
		return memstore.New(), nil
	})
	for _, url := range []string{"any-case:Rest", "ANY-CASE:Rest", "MEMORY:"} {
		locks, err := lockrt.Open(t.Context(), url, lockrt.Config{})
		if err != nil {
			t.Fatalf("Open(%q): %v", url, err)
		}
		if err := locks.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if want := "any-case:Rest any-case:Rest"; strings.Join(got, " ") != want {
		t.Errorf("the driver got %q, want %s", got, want)
	}
}

// What is no URL may be a password, or hold one.
func TestOpen_noScheme(t *testing.T) {
	for _, text := range []string{"", "secret", ":secret", "secret@host:6379", "se/cret:x", "1secret:x", "sécret:x", "secret word:"} {
		_, err := lockrt.Open(t.Context(), text, lockrt.Config{})
		if !errors.Is(err, lockrt.ErrOptions) || strings.Contains(err.Error(), "cret") || !strings.Contains(err.Error(), "no scheme") {
			t.Errorf("Open(%q): %v", text, err)
		}
	}
	for _, url := range []string{"nosuch://x:secret@y", "NOSUCH:secret"} {
		_, err := lockrt.Open(t.Context(), url, lockrt.Config{})
		if !errors.Is(err, lockrt.ErrOptions) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), `"nosuch"`) {
			t.Errorf("Open(%q): %v", url, err)
		}
	}
}

// A password that is not percent-encoded may be torn apart: the driver, which names what it takes for a host, does not
// get it.
func TestOpen_tornPassword(t *testing.T) {
	lockrt.Register("torn", func(_ context.Context, url string) (lockrt.Store, error) { return nil, errors.New(url) })
	for _, password := range []string{"se/cret", "se?cret", "se#cret", "12/cret", "12?cret@", "@/cret"} {
		_, err := lockrt.Open(t.Context(), "torn://user:"+password+"@host:1/path", lockrt.Config{})
		if !errors.Is(err, lockrt.ErrOptions) || strings.Contains(err.Error(), "cret") ||
			!strings.Contains(err.Error(), "percent-encode") {
			t.Errorf("password %q: %v", password, err)
		}
	}
	for _, url := range []string{"torn://user:se%2Fcret@host/a%40b", "torn://user:p@ss@host", "torn:file@x/y@z"} {
		if _, err := lockrt.Open(t.Context(), url, lockrt.Config{}); err == nil || !strings.HasSuffix(err.Error(), url) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
