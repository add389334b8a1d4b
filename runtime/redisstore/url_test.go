package redisstore_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	_ "github.com/lockgen/lockgen/runtime/redisstore"
)

func TestOpen_badURL(t *testing.T) {
	for url, want := range map[string]string{
		"redis:127.0.0.1:6379":                             "// is missing",
		"redis://":                                         "the host is missing",
		"redis://u:secret@127.0.0.1:6379/nought":           "nought",
		"redis://u:secret@127.0.0.1:6379/0?no_such=1":      "no_such",
		"redis://u:secret@127.0.0.1:bad/0":                 "port",
		"redis://:sec/ret@127.0.0.1:6379/0":                "percent-encode",
		"redis://u:sec%ret@127.0.0.1:6379/0":               "percent-encoded",
		"redis://u:secret@127.0.0.1:1,127.0.0.1:2/0":       "redis+sentinel://",
		"redis+sentinel://u:secret@127.0.0.1:1":            "master's name",
		"redis+sentinel://u:secret@127.0.0.1:1/mymaster/x": "not a number",
		"redis+cluster://u:secret@127.0.0.1:1/0":           "no database numbers",
		"unix://u:secret@":                                 "path of the socket",
		"unix://u:secret@run/redis.sock":                   "not absolute",
		"unix://u:secret@/run/redis.sock?db=x":             "database number",
	} {
		_, err := lockrt.Open(t.Context(), url, lockrt.Config{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "the form is ") {
			t.Errorf("Open(%q): %v, want an error with %q and the form", url, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "sec") || strings.Contains(err.Error(), "ret@")) {
			t.Errorf("Open(%q) repeats the password: %v", url, err)
		}
	}
}

func TestOpen_unreachable(t *testing.T) {
	for _, url := range []string{
		"redis://u:secret@127.0.0.1:1/0", "redis+sentinel://u:secret@127.0.0.1:1/mymaster", "redis+cluster://u:secret@127.0.0.1:1",
	} {
		_, err := lockrt.Open(t.Context(), url, lockrt.Config{})
		if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1: connect: connection refused") || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q): %v, want an error that names the address and not the password", url, err)
		}
	}
}

func TestOpen_socket(t *testing.T) {
	// The name of a socket is short on all systems; that of a test's directory may not be.
	dir, err := os.MkdirTemp("", "lockgen")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "redis@a,b.sock")
	testenv.Redis(t, testenv.RedisConfig{Password: "secret", Args: []string{"--unixsocket", socket}})
	locks, err := lockrt.Open(t.Context(), "unix://:secret@"+socket+"?db=1", lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := locks.Do(t.Context(), "k", lockrt.Options{TTL: time.Minute}, func(ctx context.Context, lease *lockrt.Lease) error {
		return lease.Check(ctx)
	}); err != nil {
		t.Error(err)
	}
	if err := locks.Close(t.Context()); err != nil {
		t.Error(err)
	}
	_, err = lockrt.Open(t.Context(), "unix:///no/such.sock", lockrt.Config{})
	if err == nil || !strings.Contains(err.Error(), "reach redis at /no/such.sock") {
		t.Errorf("Open without a server: %v, want an error that names the socket", err)
	}
}

// TestOpen_silent has a server that accepts and never answers.
func TestOpen_silent(t *testing.T) {
	server := testenv.Redis(t)
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := lockrt.Open(ctx, server.URL(), lockrt.Config{}); err == nil || !strings.Contains(err.Error(), server.Addr()) {
		t.Errorf("Open of a server that does not answer: %v", err)
	}
	if ctx.Err() != nil {
		t.Error("Open has no bound of its own")
	}
	server.Resume()
}

func TestOpen(t *testing.T) {
	server := testenv.Redis(t, testenv.RedisConfig{Password: "secret"})
	locks, err := lockrt.Open(t.Context(), server.URL(), lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := locks.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := lockrt.Open(t.Context(), strings.Replace(server.URL(), "secret", "wrong", 1), lockrt.Config{}); err == nil || strings.Contains(err.Error(), "wrong@") {
		t.Errorf("Open with a wrong password: %v", err)
	}
}
