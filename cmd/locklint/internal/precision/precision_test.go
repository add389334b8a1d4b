package precision

import (
	"cmp"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

var tables = filepath.Join("..", "..", "testdata", "precision")

func load(t *testing.T) *Data {
	t.Helper()
	d, err := Load(tables)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDocument_current: the committed document is what go generate would write.
func TestDocument_current(t *testing.T) {
	speed, err := os.ReadFile(filepath.Join(tables, "speed.md"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../PRECISION.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != load(t).Document(string(speed)) {
		t.Error("cmd/locklint/PRECISION.md is out of date: run go generate ./cmd/locklint")
	}
}

// TestDocument_off: the text says of each check that is off, and of no other, what is known of it.
func TestDocument_off(t *testing.T) {
	text, _, ok := strings.Cut(head, " are off by default: ")
	if !ok {
		t.Fatal("the text no longer says which checks are off by default")
	}
	var said []string
	for _, m := range regexp.MustCompile(`(LL\d{4})(?: to (LL\d{4}))?`).FindAllStringSubmatch(text[strings.LastIndex(text, "\n\n"):], -1) {
		last := cmp.Or(m[2], m[1])
		for _, c := range lockcheck.Checks {
			if m[1] <= c.ID && c.ID <= last {
				said = append(said, c.ID)
			}
		}
	}
	var off []string
	for _, c := range lockcheck.Checks {
		if c.Off {
			off = append(off, c.ID)
		}
	}
	if !slices.Equal(said, off) {
		t.Errorf("document.go says that %v are off, and what is known of them; off are %v", said, off)
	}
}

// TestPrecision_ofDefaults: a check below 90 % in the repositories that it was tuned on ships off by default.
func TestPrecision_ofDefaults(t *testing.T) {
	byID, all := load(t).Precision(Tuned)
	if all.All == 0 {
		t.Fatal("there are no reports")
	}
	for id, r := range byID {
		if !lockcheck.Lookup(id).Off && 10*r.Right < 9*r.All {
			t.Errorf("%s is on by default, with %d of %d reports right", id, r.Right, r.All)
		}
	}
}

// TestLoad_consistent: no report and no site is counted twice, and what a site says is found is reported in its file.
func TestLoad_consistent(t *testing.T) {
	d := load(t)
	type key struct {
		set string
		Place
		id string
	}
	seen := map[key]bool{}
	reported := map[key]bool{}
	for _, r := range d.Reports {
		k := key{r.Set, r.Place, r.ID}
		if seen[k] {
			t.Errorf("%+v is listed twice", k)
		}
		seen[k] = true
		if r.Verdict == Bug {
			k.Line = 0
			reported[k] = true
		}
	}
	for _, s := range d.Sites {
		if k := (key{s.Set, s.Place, ""}); seen[k] {
			t.Errorf("the line %+v is listed twice", s.Place)
		} else {
			seen[k] = true
		}
		for _, id := range s.Found {
			k := key{s.Set, s.Place, id}
			k.Line = 0
			if !reported[k] {
				t.Errorf("%s:%d: %s is said to be found, but there is no such report in the file", s.Path, s.Line, id)
			}
		}
	}
	if !slices.IsSortedFunc(d.Modules, func(a, b Module) int { return strings.Compare(a.Path, b.Path) }) {
		t.Error("the modules are not sorted")
	}
}

// TestModules_enough: at least thirty modules were looked at, none crashed, and each that could not be looked at
// completely says why.
func TestModules_enough(t *testing.T) {
	d := load(t)
	if len(d.Modules) < 30 {
		t.Errorf("%d modules, want at least 30", len(d.Modules))
	}
	for _, m := range d.Modules {
		if m.Exit > 2 || m.Exit < 0 || m.Note == "CRASH" {
			t.Errorf("%s crashed", m.Path)
		}
		if (m.Exit == 2) != (m.Note != "") || m.Exit == 0 && m.Findings > 0 || m.Exit == 1 && m.Findings == 0 {
			t.Errorf("%+v makes no sense", m)
		}
	}
}

// TestLoad_countsTwice: the runs over the fifth set are about the same defects.
func TestLoad_countsTwice(t *testing.T) {
	defects := map[string]map[string]int{SecondRun: {}}
	for _, run := range firstRuns {
		defects[run] = map[string]int{}
	}
	for _, c := range load(t).Counts {
		if _, twice := defects[c.Run][c.ID]; twice {
			t.Errorf("%s is counted twice in run %q", c.ID, c.Run)
		}
		if c.Defects > 0 {
			defects[c.Run][c.ID] = c.Defects
		}
	}
	if !maps.Equal(defects[FirstRun], defects[SecondRun]) {
		t.Errorf("defects %v in the first run and %v in the second", defects[FirstRun], defects[SecondRun])
	}
}

// TestRate_Wilson: bounds from the literature's examples and at the ends.
func TestRate_Wilson(t *testing.T) {
	for _, c := range []struct {
		right, all int
		low, high  float64
	}{
		{0, 0, 0, 1},
		{0, 10, 0, 0.2775},
		{10, 10, 0.7225, 1},
		{5, 10, 0.2366, 0.7634},
		{81, 263, 0.2553, 0.3662}, // Newcombe 1998, method 3
		{1, 1, 0.2065, 1},
	} {
		low, high := Rate{c.right, c.all}.Wilson()
		if math.Abs(low-c.low) > 5e-5 || math.Abs(high-c.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f–%.4f, want %.4f–%.4f", c.right, c.all, low, high, c.low, c.high)
		}
	}
}

// TestLoad_refuses: a table with a slip in it does not load.
func TestLoad_refuses(t *testing.T) {
	const commit = "0123456789012345678901234567890123456789"
	for want, row := range map[string]string{
		"no check":       "tuned,a/b," + commit + ",x.go,1,LL9999,bug,why",
		"no verdict":     "tuned,a/b," + commit + ",x.go,1,LL2001,good,why",
		"needs a note":   "tuned,a/b," + commit + ",x.go,1,LL2001,bug,",
		"not a commit":   "tuned,a/b,v1.2.3,x.go,1,LL2001,bug,why",
		"not the name":   "tuned,b," + commit + ",x.go,1,LL2001,bug,why",
		"no set":         "other,a/b," + commit + ",x.go,1,LL2001,bug,why",
		"invalid syntax": "tuned,a/b," + commit + ",x.go,one,LL2001,bug,why",
	} {
		dir := t.TempDir()
		text := "set,repo,commit,path,line,ID,verdict,note\n" + row + "\n"
		if err := os.WriteFile(filepath.Join(dir, "reports.csv"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q in it", row, err, want)
		}
	}
}
