package zkstore

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
	p, err := parseAddress("zk://app:p%40ss%2Fword@10.0.0.1:21810,10.0.0.2,[::1],node/my/team?session=30s&tick=1s")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"10.0.0.1:21810", "10.0.0.2:2181", "[::1]:2181", "node:2181"}; !slices.Equal(p.hosts, want) {
		t.Errorf("hosts %q, want %q", p.hosts, want)
	}
	if p.cfg.User != "app" || p.cfg.Password != "p@ss/word" || p.cfg.Prefix != "my/team" || p.cfg.TLS != nil ||
		p.cfg.SessionTimeout != 30*time.Second || p.cfg.Tick != time.Second {
		t.Errorf("it is %+v", p.cfg)
	}
	if text := p.String(); strings.Contains(text, "app") || !strings.HasPrefix(text, "10.0.0.1:21810,") {
		t.Errorf("it is shown as %q", text)
	}
	secure, err := parseAddress("zks://host?server_name=zk.internal")
	if err != nil || secure.cfg.TLS == nil || secure.cfg.TLS.ServerName != "zk.internal" {
		t.Errorf("zks: %+v, %v", secure, err)
	}
}

func TestOpen_wrongURL(t *testing.T) {
	for url, want := range map[string]string{
		"zk:host":                             "// is missing",
		"zk://":                               "a host is missing",
		"zk://a,,b":                           "a host is missing",
		"zk://user@host":                      "both, user and password",
		"zk://us er:s3cret@host":              "percent-encoded",
		"zk://user:s3cret%zz@host":            "percent-encoded",
		"zk://[::1":                           "percent-encode",
		"zk://host#x/team":                    "percent-encode",
		"zk://host:port":                      "a port is no number",
		"zk://host?session=10s&session=20s":   "is there 2 times",
		"zk://host/%zz":                       "begins no escape",
		"zk://host/a//b":                      "no path of ZooKeeper",
		"zk://host/my/~team":                  "begins with ~",
		"zk://host?ca=/x":                     "write zks://",
		"zk://a:b@c,d:e@f":                    "percent-encoded",
		"zk://host/zookeeper/quota":           "ZooKeeper's own",
		"zks://host?key=/x":                   "the options cert and key belong together",
		"zk://host?ttl=1s":                    "known are session, tick, and ca, cert, key, server_name of zks://",
		"zk://host?session=10":                "such as 10s",
		"zk://host?session=-3s":               "such as 10s",
		"zk://host?session=3s":                "two ticks at the least",
		"zk://host?session=1ms&tick=1us":      "SessionTimeout is 1ms",
		"zks://user:s3cret@host?ca=/none":     "the option ca",
		"zks://host?cert=/none&key=/none":     "cert and key",
		"zks://user:s3cret@host?ca=/dev/null": "no certificate",
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

// Nobody is there: the error says where, and not who.
func TestOpen_noServer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	_, err := lockrt.Open(ctx, "zk://app:s3cret@127.0.0.1:1,127.0.0.1:2", lockrt.Config{})
	saysHowLong(t, err, time.Since(began))
	if err == nil || !strings.Contains(err.Error(), "ZooKeeper at 127.0.0.1:1,127.0.0.1:2") ||
		!strings.Contains(err.Error(), "refused") || errors.Is(err, lockrt.ErrBusy) ||
		strings.Contains(err.Error(), "s3cret") {
		t.Errorf("no server: %v", err)
	}
	if isContext(err) {
		t.Errorf("the error is that of a context: %v", err)
	}
	for _, s := range []*Store{
		New(nil, Config{}), New([]string{"a"}, Config{User: "x"}), New([]string{"a"}, Config{Tick: -1}),
	} {
		if _, err := lockrt.New(s, lockrt.Config{}); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("%+v: %v, want ErrOptions", s, err)
		}
	}
}

// A server that takes connections and says nothing.
func TestOpen_silentServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	began := time.Now()
	_, err = lockrt.Open(t.Context(), "zk://"+l.Addr().String(), lockrt.Config{})
	saysHowLong(t, err, time.Since(began))
	if isContext(err) {
		t.Errorf("the error is that of a context: %v", err)
	}
}

// saysHowLong checks that an error does not claim to have waited for longer than it has.
func saysHowLong(t *testing.T, err error, took time.Duration) {
	t.Helper()
	said := regexp.MustCompile(`within ([0-9.]+m?s)`).FindStringSubmatch(fmt.Sprint(err))
	if len(said) == 0 {
		t.Errorf("the error does not say for how long it was tried: %v", err)
		return
	}
	if d, e := time.ParseDuration(said[1]); e != nil || d <= 0 || d > took+100*time.Millisecond {
		t.Errorf("after %s the error says: %v", took, err)
	}
}
