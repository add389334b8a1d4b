package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/examples/internal/cli"
	"github.com/lockgen/lockgen/examples/internal/cli/clitest"
)

var example = clitest.Command{Name: "pitfalls", Run: func(args []string, stdout, stderr io.Writer) int {
	return run(context.Background(), args, stdout, stderr)
}}

func TestParseFlags(t *testing.T) {
	if o, err := parseFlags(nil, io.Discard); err != nil || o != (options{storm: 50}) {
		t.Errorf("no flags: %+v, %v", o, err)
	}
	o, err := parseFlags(strings.Fields("-redis redis://h:1/2 -only getset -storm 7"), io.Discard)
	if want := (options{redis: "redis://h:1/2", only: "getset", storm: 7}); err != nil || o != want {
		t.Errorf("all flags: %+v, %v", o, err)
	}
	if n := len(o.pitfalls()); n != 3 {
		t.Errorf("-only getset leaves %d rows, want 3", n)
	}
}

func TestParseFlags_errorsSayWhatToDo(t *testing.T) {
	example.Refuses(t, map[string]string{
		"-storm -1":                        "-storm -1: want 0 to 10000",
		"-storm many":                      "-storm",
		"-only nothing-like-it":            `-only "nothing-like-it": no row contains it`,
		"-redis http://:s3cret@h:1":        "write redis://[:password@]host:port/db",
		"-redis redis://:s3cret%zz@h:1/0":  "write redis://[:password@]host:port/db",
		"-redis redis://:s3cret@h:1/first": "write redis://[:password@]host:port/db",
	})
}

func TestParseFlags_help(t *testing.T) {
	example.Explains(t, "-redis", "-only", "-storm")
}

// Neither the flags' own errors nor those of the client may show a password.
func TestRun_neverPrintsThePassword(t *testing.T) {
	example.Hides(t, "s3cret",
		"-redis redis://:s3cret@127.0.0.1:1/0", "-redis http://:s3cret@h:1", "-redis redis://:s3cret%zz@h:1/0",
		"-redis redis://:s3cret@h:1/first",
	)
}

func TestRun_serverDown(t *testing.T) {
	var out strings.Builder
	code := run(t.Context(), []string{"-redis", "redis://127.0.0.1:1/0"}, &out, &out)
	if code != cli.Failed || !strings.Contains(out.String(), "cannot reach Redis at 127.0.0.1:1") {
		t.Errorf("exit status %d: %s", code, out.String())
	}
}
