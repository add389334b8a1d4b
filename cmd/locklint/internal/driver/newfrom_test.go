package driver

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestParseDiff_lines: the new sides of hunks count, whatever the code in them looks like.
func TestParseDiff_lines(t *testing.T) {
	const diff = `diff --git a/a.go b/a.go
--- a/a.go
+++ b/a.go
@@ -3,0 +4,2 @@ func f() {
+++ b/not.go
+@@ -1 +1 @@
@@ -9,2 +11,0 @@
-gone
-too
@@ -20 +20 @@
-old
+new
+++ "b/\303\244 b.go"` + "\t" + `
@@ -1 +1 @@
+x
`
	changed, err := parseDiff([]byte(diff), "/dir")
	want := changedLines{"/dir/a.go": {{4, 5}, {20, 20}}, "/dir/ä b.go": {{1, 1}}}
	if err != nil || !maps.EqualFunc(changed, want, slices.Equal) {
		t.Errorf("%v, %v; want %v", changed, err, want)
	}
}

// TestParseDiff_refused: a line with numbers that no file has is an error that quotes it.
func TestParseDiff_refused(t *testing.T) {
	for _, head := range []string{"@@ -1 +99999999999999999999 @@", "@@ -1 +9223372036854775807,2 @@", "@@ -1 +1,3000000000 @@"} {
		if changed, err := parseDiff([]byte("+++ b/a.go\n"+head+"\n"), "/dir"); err == nil || !strings.Contains(err.Error(), head) {
			t.Errorf("%s: %v, %v", head, changed, err)
		}
	}
}

// TestChangedLines_only: a finding stays if it, or a place that it tells about, touches a changed line, or if its file is
// new.
func TestChangedLines_only(t *testing.T) {
	changed := changedLines{"/dir/a.go": {{4, 6}}, "/dir/new.go": nil}
	at := func(file string, first, last int) place { return place{File: file, Line: first, EndLine: last} }
	list := changed.only([]finding{
		{ID: "before", place: at("/dir/a.go", 1, 3)},
		{ID: "into", place: at("/dir/a.go", 3, 4)},
		{ID: "around", place: at("/dir/a.go", 1, 9)},
		{ID: "behind", place: at("/dir/a.go", 7, 7)},
		{ID: "new", place: at("/dir/new.go", 70, 70)},
		{ID: "other", place: at("/dir/b.go", 5, 5)},
		{ID: "related", place: at("/dir/b.go", 5, 5), Related: []related{{place: at("/dir/a.go", 6, 6)}}},
	})
	var ids []string
	for _, f := range list {
		ids = append(ids, f.ID)
	}
	if want := []string{"into", "around", "new", "related"}; !slices.Equal(ids, want) {
		t.Errorf("%v are left, want %v", ids, want)
	}
}
