package hostlist

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	got, err := Parse("10.0.0.1:23790,10.0.0.2,[::1],::2,[fe80::1%eth0]:7,node", "2379")
	want := []string{"10.0.0.1:23790", "10.0.0.2:2379", "[::1]:2379", "[::2]:2379", "[fe80::1%eth0]:7", "node:2379"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("it is %q, %v, want %q", got, err, want)
	}
	for text, want := range map[string]string{
		"":             "host is missing",
		"a,,b":         "host is missing",
		":2379":        "host is missing",
		"[]":           "host is missing",
		"a:":           "port is missing",
		"a:0":          "no number",
		"a:65536":      "no number",
		"user:s3cret":  "no number",
		"a:1:2":        "character",
		"[::1":         "character",
		"::1]":         "character",
		"a#s3cret":     "character",
		"a s3cret":     "character",
		"a\x00s3cret":  "character",
		"[a]s3cret:22": "character",
	} {
		_, err := Parse(text, "2379")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: the error repeats the text: %v", text, err)
		}
	}
}
