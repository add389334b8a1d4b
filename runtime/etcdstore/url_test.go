package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestParsePlace(t *testing.T) {
	p, err := parseAddress("etcd://app:p%40ss%2Fword@10.0.0.1:23790,10.0.0.2,[::1],node/my/team")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"http://10.0.0.1:23790", "http://10.0.0.2:2379", "http://[::1]:2379", "http://node:2379"}
	if !slices.Equal(p.client.Endpoints, want) {
		t.Errorf("endpoints %q, want %q", p.client.Endpoints, want)
	}
	if p.client.Username != "app" || p.client.Password != "p@ss/word" || p.cfg.Prefix != "my/team" || p.client.TLS != nil {
		t.Errorf("user %q, password %q, prefix %q", p.client.Username, p.client.Password, p.cfg.Prefix)
	}
	if text := p.String(); text != "10.0.0.1:23790,10.0.0.2:2379,[::1]:2379,node:2379" {
		t.Errorf("it is shown as %q", text)
	}
	secure, err := parseAddress("etcds://host?server_name=etcd.internal")
	if err != nil || secure.client.TLS == nil || secure.client.TLS.ServerName != "etcd.internal" ||
		secure.client.Endpoints[0] != "https://host:2379" {
		t.Errorf("etcds: %+v, %v", secure, err)
	}
}

func TestOpen_wrongURL(t *testing.T) {
	for url, want := range map[string]string{
		"etcd:host":                             "// is missing",
		"etcd://":                               "a host is missing",
		"etcd://a,,b":                           "a host is missing",
		"etcd://user@host":                      "both, user and password",
		"etcd://us er:s3cret@host":              "percent-encoded",
		"etcd://user:s3cret%zz@host":            "percent-encoded",
		"etcd://user:s3cret/x@host":             "percent-encode",
		"etcd://user:1/s3cret@host":             "percent-encode",
		"etcd://user:12?s3cret@host":            "percent-encode",
		"etcd://user:12#s3cret@host":            "percent-encode",
		"etcd://user:s3cret":                    "a port is no number",
		"etcd://host:99999":                     "a port is no number",
		"etcd://[::1":                           "percent-encode",
		"etcd://host#x":                         "percent-encode",
		"etcd://host/a%00b":                     "holds a NUL",
		"etcds://host?ca=/a&ca=/b":              "is there 2 times",
		"etcd://host/%zz":                       "begins no escape",
		"etcd://host/my/~team":                  "begins with ~",
		"etcd://host?ca=/x":                     "write etcds://",
		"etcd://a:b@c,d:e@f":                    "percent-encoded",
		"etcds://host?cert=/x":                  "the options cert and key belong together",
		"etcds://host?cacert=/x":                "known are ca, cert, key, server_name",
		"etcds://user:s3cret@host?ca=/none":     "the option ca",
		"etcds://host?cert=/none&key=/none":     "cert and key",
		"etcds://user:s3cret@host?ca=/dev/null": "no certificate",
	} {
		_, err := lockrt.Open(t.Context(), url, lockrt.Config{})
		if !errors.Is(err, lockrt.ErrOptions) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want ErrOptions and %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error has the password: %v", err)
		}
	}
}

// With a user the client asks for a token first. A server that does not answer is no end of the caller's context.
func TestOpen_silentServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = lockrt.Open(t.Context(), "etcd://user:s3cret@"+l.Addr().String(), lockrt.Config{})
	if err == nil || isContext(err) || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("the error is %v; want one that names the server, and not that of a context", err)
	}
	began := time.Now()
	_, err = lockrt.Open(t.Context(), "etcd://"+l.Addr().String(), lockrt.Config{})
	saysHowLong(t, err, time.Since(began))
}

// saysHowLong checks that an error does not claim to have waited for longer than it has.
func saysHowLong(t *testing.T, err error, took time.Duration) {
	t.Helper()
	said := regexp.MustCompile(`(?:within|tried for) ([0-9.]+m?s)`).FindStringSubmatch(fmt.Sprint(err))
	if len(said) == 0 {
		t.Errorf("the error does not say for how long it was tried: %v", err)
		return
	}
	if d, e := time.ParseDuration(said[1]); e != nil || d <= 0 || d > took+100*time.Millisecond {
		t.Errorf("after %s the error says: %v", took, err)
	}
}

// Nobody is there: the error says where, and not who.
func TestOpen_noServer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	_, err := lockrt.Open(ctx, "etcd://127.0.0.1:1,127.0.0.1:2", lockrt.Config{})
	saysHowLong(t, err, time.Since(began))
	if err == nil || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), "etcd at 127.0.0.1:1,127.0.0.1:2") || errors.Is(err, lockrt.ErrBusy) {
		t.Errorf("no server: %v", err)
	}
	if isContext(err) {
		t.Errorf("the error is that of a context: %v", err)
	}
	if _, err := lockrt.New(New(nil, Config{}), lockrt.Config{}); !errors.Is(err, lockrt.ErrOptions) {
		t.Errorf("no client: %v, want ErrOptions", err)
	}
}
