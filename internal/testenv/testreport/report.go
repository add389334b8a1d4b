package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// event is one line of "go test -json"; see "go doc test2json".
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

type testID struct{ pkg, test string }

// report collects the outcome of all tests.
type report struct {
	packages, passed int
	broken           []string // packages and tests that failed, in order
	skipped          []skip
	output           map[testID]*strings.Builder
}

type skip struct {
	id     testID
	reason string
}

// read prints progress to w while the tests run and returns when they are over.
func read(in io.Reader, w io.Writer) (*report, error) {
	r := &report{output: map[testID]*strings.Builder{}}
	lines := bufio.NewReader(in)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if jsonErr := json.Unmarshal(line, &e); jsonErr != nil {
				// The go command reports some errors, such as a missing module, as plain text.
				fmt.Fprintf(w, "%s", line)
				r.broken = append(r.broken, fmt.Sprintf("line %d is not from go test -json", n))
			} else {
				r.add(e, w)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the output of go test: %w", err)
		}
	}
	if r.packages == 0 && !r.failed() {
		return nil, errors.New("no package was tested: is standard input the output of go test -json?")
	}
	return r, nil
}

func (r *report) failed() bool { return len(r.broken) > 0 }

func (r *report) add(e event, w io.Writer) {
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(w, e.Output)
	case "output":
		if r.output[id] == nil {
			r.output[id] = &strings.Builder{}
		}
		r.output[id].WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e, w)
		} else {
			r.endTest(e, w)
		}
		delete(r.output, id)
	}
}

func (r *report) endTest(e event, w io.Writer) {
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.broken = append(r.broken, e.Package+" "+e.Test)
		fmt.Fprintf(w, "FAIL  %s %s\n%s", e.Package, e.Test, r.text(id))
	case "skip":
		r.skipped = append(r.skipped, skip{id, cmp.Or(reason(r.text(id)), "no reason given")})
	}
}

func (r *report) endPackage(e event, w io.Writer) {
	r.packages++
	switch {
	case e.Action == "fail":
		r.broken = append(r.broken, e.Package)
		// What belongs to no test: a panic, a leak, a failed TestMain or build.
		fmt.Fprintf(w, "FAIL  %s (%.1fs)\n%s", e.Package, e.Elapsed, r.text(testID{pkg: e.Package}))
		r.unfinished(e.Package, w)
	case e.Action == "skip":
		fmt.Fprintf(w, "--    %s has no tests\n", e.Package)
	default:
		fmt.Fprintf(w, "ok    %s (%.1fs)\n", e.Package, e.Elapsed)
	}
}

// unfinished prints what the tests said that never ended, because the process
// died in them: there the panic is. Those that had said nothing, most of them
// parallel ones that were waiting for their turn, are only named, so that they
// do not bury it.
func (r *report) unfinished(pkg string, w io.Writer) {
	var silent []string
	for id := range r.output {
		if id.pkg != pkg || id.test == "" {
			continue
		}
		if text := r.text(id); reason(text) != "" {
			fmt.Fprintf(w, "FAIL  %s %s did not end\n%s", pkg, id.test, text)
		} else {
			silent = append(silent, id.test)
		}
	}
	if len(silent) > 0 {
		slices.Sort(silent)
		fmt.Fprintf(w, "FAIL  %s: nor did these end, which said nothing: %s\n", pkg, strings.Join(silent, " "))
	}
}

func (r *report) text(id testID) string {
	if b := r.output[id]; b != nil {
		return b.String()
	}
	return ""
}

// position is what package testing puts before the text of t.Skip.
var position = regexp.MustCompile(`^\w[\w.-]*\.go:\d+: `)

// reason finds what a test said, such as the reason it gave t.Skip: the lines of
// output that are not the framing of package testing.
func reason(text string) string {
	var said []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		said = append(said, position.ReplaceAllString(line, ""))
	}
	return strings.Join(said, " ")
}

func (r *report) summarize(w io.Writer) {
	for _, s := range r.skipped {
		fmt.Fprintf(w, "SKIP  %s %s: %s\n", s.id.pkg, s.id.test, s.reason)
	}
	for _, name := range r.broken {
		fmt.Fprintf(w, "FAIL  %s\n", name)
	}
	fmt.Fprintf(w, "tests: %d packages, %d passed, %d skipped, %d failed\n",
		r.packages, r.passed, len(r.skipped), len(r.broken))
}
