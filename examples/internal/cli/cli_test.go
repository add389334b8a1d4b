package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]string{
		"":             "map[]",
		"-n 3":         "map[n:true]",
		"-n three":     "wrong flags: invalid value \"three\" for flag -n: parse error (see -help)",
		"-m":           "wrong flags: flag provided but not defined: -m (see -help)",
		"-n 3 go -m":   "wrong flags: unexpected argument \"go\" (see -help)",
		"-help":        "flag: help requested",
		"-n 1 -h more": "flag: help requested",
	} {
		flags := NewFlags("example")
		flags.Int("n", 1, "a `number`")
		var out strings.Builder
		given, err := Parse(flags, strings.Fields(line), "usage: example\n", &out)
		got := fmt.Sprint(given)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
		if help := "usage: example\n  -n number\n"; strings.HasPrefix(out.String(), help) != errors.Is(err, flag.ErrHelp) {
			t.Errorf("%q prints %q", line, out.String())
		}
	}
}

func TestCheckStore(t *testing.T) {
	for store, ok := range map[string]bool{
		"memory:": true, "redis://h:1/2": true, "rediss://u:p@h,h2": true,
		"": false, "memory:x": false, "memory://h": false, "redis": false, "redis://": false, "etcd://:s3cret@h": false,
	} {
		err := CheckStore(store, "redis", "rediss")
		if (err == nil) != ok || err != nil && (!errors.Is(err, errFlags) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%q: %v", store, err)
		}
	}
}

func TestStatus(t *testing.T) {
	for _, test := range []struct {
		satisfied bool
		err       error
		status    int
		says      string
	}{
		{true, nil, OK, ""},
		{false, nil, Failed, ""},
		{true, io.ErrUnexpectedEOF, Failed, "example: unexpected EOF\n"},
		{false, FlagError("-n %d: want %s", 0, "1 to 9"), Usage, "example: wrong flags: -n 0: want 1 to 9\n"},
		{false, flag.ErrHelp, OK, ""},
	} {
		var stderr strings.Builder
		if status := Status("example", test.satisfied, test.err, &stderr); status != test.status ||
			stderr.String() != test.says {
			t.Errorf("%v, %v: %d and %q, want %d and %q", test.satisfied, test.err, status, &stderr, test.status, test.says)
		}
	}
}
