package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/examples/internal/cli/clitest"
)

var example = clitest.Command{Name: "cluster", Run: func(args []string, stdout, stderr io.Writer) int {
	return run(args, nil, stdout, stderr)
}}

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
	example.Refuses(t, map[string]string{
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
	})
}

func TestParseFlags_help(t *testing.T) {
	example.Explains(t, "-store", "-nodes", "-for", "-kill", "-addr")
}

// Neither the flags' own errors nor those of the client may show a password.
func TestRun_neverPrintsThePassword(t *testing.T) {
	example.Hides(t, "s3cret",
		"-addr 127.0.0.1:0 -store redis://:s3cret@127.0.0.1:1/0",        // nobody listens
		"-addr 127.0.0.1:0 -store redis://:s3cret@127.0.0.1:port/0",     // no port
		"-addr 127.0.0.1:0 -store redis://:s3cret/x@127.0.0.1:6379/0",   // not escaped: s3cret looks like a port
		"-addr 127.0.0.1:0 -store redis://:s3cret%zz@127.0.0.1:6379/0",  // escaped wrongly
		"-addr 127.0.0.1:0 -store redis://:s3cret@127.0.0.1:6379/db",    // no number
		"-addr 127.0.0.1:0 -store redis://:s3cret@127.0.0.1:1/0?s3cret", // unknown option
		"-addr 127.0.0.1:0 -store http://:s3cret@127.0.0.1:1/",
	)
}
