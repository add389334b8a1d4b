package main

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/examples/internal/cli"
)

func TestParseFlags_defaults(t *testing.T) {
	o, err := parseFlags(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if want := (options{store: "memory:", nodes: 3, addr: "127.0.0.1:8080"}); o != want {
		t.Errorf("got %+v, want %+v", o, want)
	}
}

func TestParseFlags_all(t *testing.T) {
	o, err := parseFlags(strings.Fields("-store redis://h:1/2 -nodes 5 -for 10s -kill 4s -addr [::1]:0"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := options{store: "redis://h:1/2", nodes: 5, runs: 10 * time.Second, kill: 4 * time.Second, addr: "[::1]:0"}
	if o != want {
		t.Errorf("got %+v, want %+v", o, want)
	}
}

func TestParseFlags_errorsSayWhatToDo(t *testing.T) {
	for line, want := range map[string]string{
		"-nodes 0":                             "-nodes 0: want 1 to 50",
		"-nodes many":                          "-nodes",
		"-for 0s":                              "-for 0s: want a positive duration",
		"-for -1s":                             "-for -1s: want a positive duration",
		"-for 10":                              "-for",
		"-addr 8080":                           `-addr "8080": want host:port`,
		"-kill 5s -nodes 1":                    "would leave no node",
		"-store redis://h:1/0 -kill 0s":        "-kill 0s: want a positive duration",
		"-store redis://h:1 -kill 5s -for 5s":  "-kill 5s is not before the end at -for 5s",
		"-store redis://h:1 -kill 5s -nodes 1": "would leave no node",
		"-store etcd://h:1":                    "want memory: or redis://",
		"-store redis://":                      "want memory: or redis://",
		"-store memory:x":                      "want memory: or redis://",
		"-no-such-flag":                        "-no-such-flag",
		"run":                                  `unexpected argument "run"`,
	} {
		_, err := parseFlags(strings.Fields(line), io.Discard)
		if !errors.Is(err, cli.ErrFlags) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
		var stderr strings.Builder
		if code := run(strings.Fields(line), nil, io.Discard, &stderr); code != 2 || stderr.String() != "cluster: "+err.Error()+"\n" {
			t.Errorf("%s: exit status %d, want 2, and %q", line, code, stderr.String())
		}
	}
}

func TestParseFlags_help(t *testing.T) {
	var out strings.Builder
	if _, err := parseFlags([]string{"-help"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("err = %v", err)
	}
	for _, name := range []string{"-store", "-nodes", "-for", "-kill", "-addr"} {
		if !strings.Contains(out.String(), "\n  "+name) {
			t.Errorf("help does not name %s:\n%s", name, out.String())
		}
	}
	if code := run([]string{"-help"}, nil, io.Discard, io.Discard); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

// Neither the flags' own errors nor those of the client may show a password.
func TestRun_neverPrintsThePassword(t *testing.T) {
	for _, store := range []string{
		"redis://:s3cret@127.0.0.1:1/0",        // nobody listens
		"redis://:s3cret@127.0.0.1:port/0",     // no port
		"redis://:s3cret/x@127.0.0.1:6379/0",   // not escaped: s3cret looks like a port
		"redis://:s3cret%zz@127.0.0.1:6379/0",  // escaped wrongly
		"redis://:s3cret@127.0.0.1:6379/db",    // no number
		"redis://:s3cret@127.0.0.1:1/0?s3cret", // unknown option
		"http://:s3cret@127.0.0.1:1/",
	} {
		var out strings.Builder
		if code := run([]string{"-store", store, "-addr", "127.0.0.1:0"}, nil, &out, &out); code == 0 {
			t.Errorf("%s: exit status 0", store)
		}
		if text := out.String(); strings.Contains(text, "s3cret") || text == "" {
			t.Errorf("%s: says %q", store, text)
		}
	}
}
