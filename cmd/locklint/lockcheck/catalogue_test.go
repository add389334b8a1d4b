package lockcheck

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/lostcancel"
	"golang.org/x/tools/go/analysis/passes/nilness"
	"golang.org/x/tools/go/analysis/passes/printf"
)

func TestAnalyzers_valid(t *testing.T) {
	var all []*analysis.Analyzer
	for _, c := range Checks {
		all = append(all, c.Analyzer)
	}
	// Beside others, as a driver has them that people build for themselves: no type of fact may be shared.
	if err := analysis.Validate(append(all, lostcancel.Analyzer, printf.Analyzer, nilness.Analyzer)); err != nil {
		t.Fatal(err)
	}
	for i, c := range Checks {
		if Lookup(strings.ToLower(c.ID)) != c {
			t.Errorf("Lookup does not find %s: is it there twice?", c.ID)
		}
		if i > 0 && Checks[i-1].ID >= c.ID {
			t.Errorf("%s stands behind %s", c.ID, Checks[i-1].ID)
		}
		if c.Off == slices.Contains(Analyzers, c.Analyzer) {
			t.Errorf("%s: off by default is %t, and that is also whether it stands in Analyzers", c.ID, c.Off)
		}
	}
}

// TestExplanation_complete: each page has all sections, in order: why, how it fails as a timeline of two clients or
// more, how to fix it with and without this library, and what is reported.
func TestExplanation_complete(t *testing.T) {
	for _, c := range Checks {
		page := c.Explanation()
		if !checkID.MatchString(c.ID) || c.Title == "" {
			t.Errorf("the heading of a page is %q: %q, want an ID and a title", c.ID, c.Title)
		}
		var headings []string
		for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(page, -1) {
			headings = append(headings, m[1])
		}
		if !slices.Equal(headings, pageSections) {
			t.Errorf("%s: the sections are %q, want %q", c.ID, headings, pageSections)
		}
		if len(c.Why()) < 80 {
			t.Errorf("%s: the page does not say why it matters, only %q", c.ID, c.Why())
		}
		for _, h := range pageSections {
			if pageSection(page, h) == "" {
				t.Errorf("%s: section %q is empty", c.ID, h)
			}
		}
		checkTimeline(t, c.ID, pageSection(page, "How it fails"))
		if !strings.Contains(pageSection(page, "Fix with a directive"), "\t//lock:") {
			t.Errorf("%s: the fix with a directive shows no directive", c.ID)
		}
		for i, line := range strings.Split(page, "\n") {
			if len([]rune(line)) > 120 && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "\t") {
				t.Errorf("%s.md:%d: longer than 120 columns", c.ID, i+1)
			}
		}
	}
}

var checkID = regexp.MustCompile(`^LL\d{4}$`)

var tableRow = regexp.MustCompile(`(?m)^\|(.*)\|$`)

// checkTimeline wants tables whose columns are clients and whose rows are numbered.
func checkTimeline(t *testing.T, id, text string) {
	t.Helper()
	columns, step, steps := 0, 0, 0
	for _, m := range tableRow.FindAllStringSubmatch(text, -1) {
		cells := strings.Split(strings.ReplaceAll(m[1], `\|`, ""), "|")
		switch first := strings.TrimSpace(cells[0]); {
		case first == "":
			columns, step = len(cells), 0
			if columns < 3 || strings.TrimSpace(cells[1]) != "client A" || strings.TrimSpace(cells[2]) != "client B" {
				t.Errorf("%s: the timeline's columns are %q, want client A, client B, …", id, cells[1:])
			}
		case strings.HasPrefix(first, "-"):
		default:
			step++
			steps++
			if first != strconv.Itoa(step) {
				t.Errorf("%s: step %q of the timeline should be number %d", id, first, step)
			}
			if len(cells) != columns {
				t.Errorf("%s: step %d of the timeline has %d columns, its head has %d", id, step, len(cells), columns)
			}
		}
	}
	if steps < 2 {
		t.Errorf("%s: there is no timeline", id)
	}
}

// The headings of a check's page, in their order. A page starts with "# ID: Title" and the answer to why it matters.
var pageSections = []string{
	"How it fails",         // a timeline of two clients or more
	"Fix by hand",          // with whatever client the code uses
	"Fix with a directive", // what it looks like as a //lock: function
	"What is reported",     // and what stays silent, so that silence can be trusted
}

// pageSection is the text below one of the pageSections, "" if the page lacks it.
func pageSection(page, heading string) string {
	_, rest, ok := strings.Cut(page, "\n## "+heading+"\n")
	if !ok {
		return ""
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return strings.TrimSpace(text)
}
