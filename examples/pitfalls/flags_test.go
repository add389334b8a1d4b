package main

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/examples/internal/cli"
)

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
	for line, want := range map[string]string{
		"-storm -1":                        "-storm -1: want 0 to 10000",
		"-storm many":                      "-storm",
		"-only nothing-like-it":            `-only "nothing-like-it": no row contains it`,
		"-embedded -redis redis://h:1":     "-embedded and -redis contradict each other",
		"-redis http://:s3cret@h:1":        "write redis://[:password@]host:port/db",
		"-redis redis://:s3cret%zz@h:1/0":  "write redis://[:password@]host:port/db",
		"-redis redis://:s3cret@h:1/first": "write redis://[:password@]host:port/db",
		"-no-such-flag":                    "-no-such-flag",
		"run":                              `unexpected argument "run"`,
	} {
		_, err := parseFlags(strings.Fields(line), io.Discard)
		if !errors.Is(err, cli.ErrFlags) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
		var stderr strings.Builder
		code := run(t.Context(), strings.Fields(line), io.Discard, &stderr)
		if code != cli.Usage || stderr.String() != "pitfalls: "+err.Error()+"\n" {
			t.Errorf("%s: exit status %d, want 2, and %q", line, code, stderr.String())
		}
	}
}

func TestParseFlags_help(t *testing.T) {
	var out strings.Builder
	if _, err := parseFlags([]string{"-help"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("err = %v", err)
	}
	for _, name := range []string{"-redis", "-embedded", "-only", "-storm"} {
		if !strings.Contains(out.String(), "\n  "+name) {
			t.Errorf("help does not name %s:\n%s", name, out.String())
		}
	}
	if code := run(t.Context(), []string{"-h"}, io.Discard, io.Discard); code != cli.OK {
		t.Errorf("exit status %d", code)
	}
}

func TestRun_serverDown(t *testing.T) {
	var out strings.Builder
	code := run(t.Context(), []string{"-redis", "redis://:s3cret@127.0.0.1:1/0"}, &out, &out)
	if code != cli.Failed || !strings.Contains(out.String(), "cannot reach Redis at 127.0.0.1:1") || strings.Contains(out.String(), "s3cret") {
		t.Errorf("exit status %d: %s", code, out.String())
	}
}
