package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
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
		"redis:127.0.0.1:6379":                                                    "// is missing",
		"redis://":                                                                "the host is missing",
		"redis://u:secret@127.0.0.1:6379/nought":                                  "nought",
		"redis://u:secret@127.0.0.1:6379/0?no_such=1":                             "no_such",
		"redis://u:secret@127.0.0.1:bad/0":                                        "port",
		"redis://u:sec%ret@127.0.0.1:6379/0":                                      "percent-encoded",
		"redis://u:secret@127.0.0.1:1,127.0.0.1:2/0":                              "redis+sentinel://",
		"redis+sentinel://u:secret@127.0.0.1:1":                                   "master's name",
		"redis+sentinel://u:secret@127.0.0.1:1/mymaster/0/x":                      "master's name",
		"redis+sentinel://u:secret@127.0.0.1:1/mymaster/x":                        "not a number",
		"redis+sentinel://u:secret@127.0.0.1:1/m?no_such=1&sentinel_password=sec": "no_such",
		"redis+cluster://u:secret@127.0.0.1:1/0":                                  "no database numbers",
		"redis+cluster://u:secret@127.0.0.1:1?no_such=1":                          "no_such",
		"unix://u:secret@":                                                        "path of the socket",
		"unix://u:secret@run/redis.sock":                                          "not absolute",
		"unix://u:secret@/run/redis.sock?db=x":                                    "database number",
		"unix://u:secret@/run/redis.sock?no_such=1":                               "no_such",
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
		"redis://u:secret@127.0.0.1:1/0", "redis+sentinel://u:secret@127.0.0.1:1/mymaster",
		"redis+cluster://u:secret@127.0.0.1:1",
	} {
		_, err := lockrt.Open(t.Context(), url, lockrt.Config{})
		refused := "127.0.0.1:1: connect: connection refused"
		if err == nil || !strings.Contains(err.Error(), refused) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q): %v, want an error that names the address and not the password", url, err)
		}
	}
}

func TestOpen_socket(t *testing.T) {
	server, socket := redisOnSocket(t)
	if err := useLock(t.Context(), "unix://:secret@"+socket+"?db=1", nil); err != nil {
		t.Fatal(err)
	}
	wantDatabase(t, server, 1)
	_, err := lockrt.Open(t.Context(), "unix:///no/such.sock", lockrt.Config{})
	if err == nil || !strings.Contains(err.Error(), "reach redis at /no/such.sock") {
		t.Errorf("Open without a server: %v, want an error that names the socket", err)
	}
}

// redisOnSocket starts a server with the password "secret" that listens on a socket too.
func redisOnSocket(t *testing.T) (server *testenv.RedisServer, socket string) {
	t.Helper()
	// The name of a socket is short on all systems; that of a test's directory may not be.
	dir, err := os.MkdirTemp("", "lockgen")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "redis@a,b.sock")
	server = testenv.Redis(t, testenv.RedisConfig{Password: "secret", Args: []string{"--unixsocket", socket}})
	return server, socket
}

// Servers accept and never answer. Open has a bound of its own, and the client keeps to it: it was given ten minutes.
func TestOpen_silent(t *testing.T) {
	for scheme, start := range map[string]func(t *testing.T) (url string, silent []*testenv.RedisServer){
		"redis": func(t *testing.T) (string, []*testenv.RedisServer) {
			server := testenv.Redis(t)
			return server.URL(), []*testenv.RedisServer{server}
		},
		"unix": func(t *testing.T) (string, []*testenv.RedisServer) {
			server, socket := redisOnSocket(t)
			return "unix://:secret@" + socket, []*testenv.RedisServer{server}
		},
		"redis+cluster": func(t *testing.T) (string, []*testenv.RedisServer) {
			cluster := testenv.Cluster(t, 2)
			return cluster.URL(), cluster.Nodes
		},
		"redis+sentinel": func(t *testing.T) (string, []*testenv.RedisServer) {
			sentinel := testenv.Sentinel(t)
			return sentinel.URL(), []*testenv.RedisServer{sentinel.Master, sentinel.Replica}
		},
	} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			url, silent := start(t)
			for _, server := range silent {
				server.Pause()
			}
			ctx := testContext(t)
			opened := make(chan error, 1)
			go func() { opened <- useLock(ctx, url+"?read_timeout=10m", nil) }()
			select {
			case err := <-opened:
				if err == nil || !strings.Contains(err.Error(), "reach redis at ") {
					t.Errorf("Open of a server that does not answer: %v", err)
				}
			case <-time.After(30 * time.Second):
				t.Error("Open has no bound of its own")
				defer func() { <-opened }()
			}
			for _, server := range silent {
				server.Resume()
			}
		})
	}
}

// What is sent to a rediss URL's host begins like TLS: no password goes out in the clear.
func TestOpen_tls(t *testing.T) {
	for _, url := range []string{
		"rediss://:secret@%s/0", "rediss+sentinel://:secret@%s/m?sentinel_password=secret", "rediss+cluster://:secret@%s",
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		opened := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			err := useLock(ctx, fmt.Sprintf(url, ln.Addr()), nil)
			_ = ln.Close()
			opened <- err
		}()
		sent := 0
		for conn, err := ln.Accept(); err == nil; conn, err = ln.Accept() {
			const handshake = 0x16
			var first [1]byte
			if n, _ := conn.Read(first[:]); n == 1 && first[0] != handshake {
				t.Errorf("Open(%q) sent %q first, not TLS", url, first)
			} else {
				sent += n // nothing comes from the one that only looks whether anybody is there
			}
			if sent > 0 {
				cancel()
			}
			_ = conn.Close()
		}
		if err := <-opened; err == nil || strings.Contains(err.Error(), "secret") || sent == 0 {
			t.Errorf("Open(%q) of a server without TLS, to which %d connections spoke: %v", url, sent, err)
		}
	}
}

func TestOpen(t *testing.T) {
	server := testenv.Redis(t, testenv.RedisConfig{Password: "secret"})
	if err := useLock(t.Context(), strings.TrimSuffix(server.URL(), "0")+"3", nil); err != nil {
		t.Error(err)
	}
	wantDatabase(t, server, 3)
	wrong := strings.Replace(server.URL(), "secret", "wrong", 1)
	if err := useLock(t.Context(), wrong, nil); err == nil || strings.Contains(err.Error(), "wrong@") {
		t.Errorf("Open with a wrong password: %v", err)
	}
}

// useLock does with a store by its URL what an application does.
func useLock(ctx context.Context, url string, logger *slog.Logger) error {
	locks, err := lockrt.Open(ctx, url, lockrt.Config{Logger: logger})
	if err != nil {
		return err
	}
	err = locks.Do(ctx, "k", lockrt.Options{TTL: time.Minute}, func(ctx context.Context, lease *lockrt.Lease) error {
		return lease.Check(ctx)
	})
	return errors.Join(err, locks.Close(ctx))
}

// wantDatabase checks that this one of the server's databases was used, and no other.
func wantDatabase(t *testing.T, server *testenv.RedisServer, db int) {
	t.Helper()
	used := newClient(t, server).Info(t.Context(), "keyspace").Val()
	if want := fmt.Sprintf("db%d:", db); strings.Count(used, "db") != 1 || !strings.Contains(used, want) {
		t.Errorf("used are the databases %q, want %s alone", used, want)
	}
}
