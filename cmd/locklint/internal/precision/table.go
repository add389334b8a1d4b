// Package precision makes the document on how often the checks are right from tables of labels that people have made:
// what locklint reports in public code, and what a search for lock-like words finds there without locklint.
//
// The tables hold places and judgements, no source text. They stand in cmd/locklint/testdata/precision.
package precision

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

// A Verdict says what a person makes of a report.
type Verdict string

// The verdicts. Only the first one counts as right.
const (
	Bug      Verdict = "bug"
	Intended Verdict = "intended"   // true, and the authors want it so
	NotLock  Verdict = "not a lock" // the code does not lock anything
	Unclear  Verdict = "unclear"
)

// A Role says what a lock-like line is.
type Role string

// The roles. Plumbing hands a command on for somebody else, such as an adapter between clients.
const (
	IsLock   Role = "lock"
	NotSure  Role = "not sure" // a lock whose defect is not beyond doubt
	Plumbing Role = "plumbing"
	Other    Role = "not a lock"
	Doubtful Role = "unclear"
)

// A Place is a line in a repository at a commit.
type Place struct {
	Repo, Commit, Path string
	Line               int
}

// A Report is a finding of locklint with a verdict.
type Report struct {
	Set string // one of sets
	Place
	ID      string
	Verdict Verdict
	Note    string
}

// A Site is a lock-like line. Broken are the checks that should report the lock, Found those that do.
type Site struct {
	Set string
	Place
	Kind          string // the word that matched
	Role          Role
	Broken, Found []string
	Note          string
}

// A Module is a run of locklint over a module with all checks.
type Module struct {
	Path, Version            string
	Packages, Findings, Exit int
	Note                     string
}

// A Count is what a run over repositories that are not named came to for a check.
type Count struct {
	Run             string // FirstRun or SecondRun
	ID              string
	Reports, Right  int
	Defects, Found  int
	Sure, SureFound int // of the defects those that the label is sure about
}

// The runs over the sets that are not named: of the fifth before and after what it showed was corrected, and the first ones
// over those that came after it.
const (
	FirstRun   = "first"
	SecondRun  = "mended"
	SixthRun   = "sixth"
	SeventhRun = "seventh"
	EighthRun  = "eighth"
	NinthRun   = "ninth"
	TenthRun   = "tenth"
	Eleventh   = "eleventh"
	Twelfth    = "twelfth"
	Thirteenth = "thirteenth"
	Fourteenth = "fourteenth"
	Fifteenth  = "fifteenth"
	Sixteenth  = "sixteenth"

	Seventeenth = "seventeenth"
	Eighteenth  = "eighteenth"
	Nineteenth  = "nineteenth"
	Twentieth   = "twentieth"
)

// firstRuns are those over code that the checks had not seen.
var firstRuns = []string{FirstRun, SixthRun, SeventhRun, EighthRun, NinthRun, TenthRun, Eleventh, Twelfth, Thirteenth,
	Fourteenth, Fifteenth, Sixteenth, Seventeenth, Eighteenth, Nineteenth, Twentieth}

// The sets of repositories: those that the checks were tuned on, those that were kept back then, those that were found
// when the checks were done, and those that were labelled before the first run. Mended is the last of them once more,
// after what the first run showed was corrected.
const (
	Tuned   = "tuned"
	HeldOut = "held out"
	Fresh   = "fresh"
	Unseen  = "unseen"
	Mended  = "mended"
)

// sets are those that count: each repository once.
var sets = []string{Tuned, HeldOut, Fresh, Unseen}

// Data is what the tables say.
type Data struct {
	Reports []Report
	Sites   []Site
	Modules []Module
	Counts  []Count
}

// Load reads the tables in a directory.
func Load(dir string) (*Data, error) {
	d := new(Data)
	err := readTable(filepath.Join(dir, "reports.csv"), "set,repo,commit,path,line,ID,verdict,note",
		func(f []string) error {
			p, err := place(f[1:5])
			r := Report{f[0], p, f[5], Verdict(f[6]), f[7]}
			d.Reports = append(d.Reports, r)
			if err != nil {
				return err
			}
			return r.check()
		})
	if err != nil {
		return nil, err
	}
	err = readTable(filepath.Join(dir, "sites.csv"), "set,repo,commit,path,line,kind,role,broken,found,note",
		func(f []string) error {
			p, err := place(f[1:5])
			s := Site{f[0], p, f[5], Role(f[6]), strings.Fields(f[7]), strings.Fields(f[8]), f[9]}
			d.Sites = append(d.Sites, s)
			if err != nil {
				return err
			}
			return s.check()
		})
	if err != nil {
		return nil, err
	}
	err = readTable(filepath.Join(dir, "counts.csv"), "run,ID,reports,right,defects,found,sure,sure found",
		func(f []string) error {
			c := Count{Run: f[0], ID: f[1]}
			err := numbers(f[2:8], &c.Reports, &c.Right, &c.Defects, &c.Found, &c.Sure, &c.SureFound)
			d.Counts = append(d.Counts, c)
			return errors.Join(err, c.check())
		})
	if err != nil {
		return nil, err
	}
	return d, readTable(filepath.Join(dir, "modules.csv"), "module,version,packages,findings,exit,note",
		func(f []string) error {
			m := Module{Path: f[0], Version: f[1], Note: f[5]}
			d.Modules = append(d.Modules, m)
			last := &d.Modules[len(d.Modules)-1]
			return numbers(f[2:5], &last.Packages, &last.Findings, &last.Exit)
		})
}

func readTable(name, head string, row func(fields []string) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(rows) == 0 || strings.Join(rows[0], ",") != head {
		return fmt.Errorf("%s: the first line is not %s", name, head)
	}
	for i, fields := range rows[1:] {
		if err := row(fields); err != nil {
			return fmt.Errorf("%s: row %d: %w", name, i+2, err)
		}
	}
	return nil
}

var (
	repoName = regexp.MustCompile(`^[\w.-]+/[\w.-]+$`)
	commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

func place(f []string) (Place, error) {
	line, err := strconv.Atoi(f[3])
	p := Place{f[0], f[1], f[2], line}
	switch {
	case err != nil:
		return p, err
	case !repoName.MatchString(p.Repo):
		return p, fmt.Errorf("%q is not the name of a repository", p.Repo)
	case !commitID.MatchString(p.Commit):
		return p, fmt.Errorf("%q is not a commit", p.Commit)
	}
	return p, nil
}

func numbers(f []string, to ...*int) error {
	for i, n := range to {
		v, err := strconv.Atoi(f[i])
		if err != nil {
			return err
		}
		*n = v
	}
	return nil
}

func isSet(name string) bool { return name == Mended || slices.Contains(sets, name) }

func (r Report) check() error {
	switch {
	case !isSet(r.Set):
		return fmt.Errorf("there is no set %q", r.Set)
	case lockcheck.Lookup(r.ID) == nil:
		return fmt.Errorf("there is no check %q", r.ID)
	case !slices.Contains([]Verdict{Bug, Intended, NotLock, Unclear}, r.Verdict):
		return fmt.Errorf("there is no verdict %q", r.Verdict)
	case r.Note == "":
		return fmt.Errorf("a verdict needs a note that says why")
	}
	return nil
}

func (c Count) check() error {
	switch {
	case c.Run != SecondRun && !slices.Contains(firstRuns, c.Run):
		return fmt.Errorf("there is no run %q", c.Run)
	case lockcheck.Lookup(c.ID) == nil:
		return fmt.Errorf("there is no check %q", c.ID)
	case c.Right > c.Reports || c.Found > c.Defects || c.SureFound > c.Sure || c.Sure > c.Defects || c.SureFound > c.Found:
		return fmt.Errorf("%+v makes no sense", c)
	}
	return nil
}

func (s Site) check() error {
	if !isSet(s.Set) {
		return fmt.Errorf("there is no set %q", s.Set)
	}
	if !slices.Contains([]Role{IsLock, NotSure, Plumbing, Other, Doubtful}, s.Role) {
		return fmt.Errorf("there is no role %q", s.Role)
	}
	if s.Role != IsLock && s.Role != NotSure && len(s.Broken) > 0 {
		return fmt.Errorf("%s cannot be a broken lock", s.Role)
	}
	for _, id := range s.Broken {
		if lockcheck.Lookup(id) == nil {
			return fmt.Errorf("there is no check %q", id)
		}
	}
	for _, id := range s.Found {
		if !slices.Contains(s.Broken, id) {
			return fmt.Errorf("%s is found but not broken: it belongs into the table of reports", id)
		}
	}
	return nil
}
