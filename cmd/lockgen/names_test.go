package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// acted is what a terminal, an editor or a log acts on: a color, a new line with a workflow command, text that runs backwards.
const acted = "\x1b[31mx\n::error::\u202e"

// TestRun_printsNamesThatNobodyActsOn: whatever a name holds, and wherever it comes from, it is printed as text.
func TestRun_printsNamesThatNobodyActsOn(t *testing.T) {
	dir := t.TempDir()
	if err := initModule(dir); err != nil {
		t.Fatal(err)
	}
	source := "package p\n\n//lock:key=a,ttl=30s,cron=\"@daily\"\nfunc workLocked() {}\n"
	files := map[string]string{
		"p/a.go":               source,
		acted + "/a.go":        source,
		"bad/" + acted + ".go": "package p\n\n//lock:key=a\nfunc f() {}\n",
		"syntax/a.go":          "package p\n\n//lock:key=a,ttl=30s\nfunc f() { " + acted + " }\n",
		"out/p/lock_gen.go":    "// " + acted,
		acted + ".txt":         "",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Skip("no such names here: ", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Skip("no such names here: ", err)
		}
	}
	t.Chdir(dir)
	for _, args := range [][]string{
		{acted}, {"./" + acted + "none"}, {"./" + acted + "none/..."}, {"./" + acted + ".txt"}, {"./" + acted + "/.../x"},
		{"-" + acted}, {"-v=" + acted}, {"list", "-" + acted}, {".", "-" + acted}, {"-tags", acted, "."}, {"-explain", acted},
		{"-o", acted + ".go", "./bad"}, {"-o", acted + ".go", "./p", "./none"}, {"-o", acted + ".txt", "./p"}, {"-o", "out", "./p"},
		{"list", "-from", acted}, {"list", "-graph", acted}, {"-check", "./" + acted}, {"-v", "-check", "./" + acted, "./p"},
		{"./bad"}, {"list", "./bad"}, {"./syntax"}, {"list", "./" + acted}, {"list", "-graph", "dot", "./" + acted},
		{"example.com/app/" + acted}, {"example.com/" + acted + "/..."},
	} {
		var stdout, stderr strings.Builder
		run(t.Context(), args, &stdout, &stderr)
		if stderr.Len()+stdout.Len() == 0 {
			t.Errorf("%q: nothing is printed", args)
		}
		for name, text := range map[string]string{"stdout": stdout.String(), "stderr": stderr.String()} {
			if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }) {
				t.Errorf("%q: %s is %q", args, name, text)
			}
			lines := strings.Split(text, "\n")
			if slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "::error") }) {
				t.Errorf("%q: %s has a line of the name: %q", args, name, text)
			}
		}
	}
}
