package driver

import (
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

// This file prints findings as SARIF 2.1.0, the form that code hosts take. Columns count UTF-16 code units, as the
// standard wants: elsewhere in locklint they count bytes.

// printSARIF prints the findings, those that are silenced as suppressed.
func printSARIF(w io.Writer, list []finding, failures []string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	s := &sarifPrinter{dir: dir, lines: map[string][]string{}}
	driver := sarifDriver{Name: "locklint", InformationURI: homePage, Version: files.Version(), Rules: rules()}
	run := sarifRun{
		Tool:       sarifTool{Driver: driver},
		ColumnKind: "utf16CodeUnits",
		BaseIDs: map[string]sarifArtifact{baseID: {URI: fileURI(strings.TrimSuffix(filepath.ToSlash(dir),
			"/") + "/")}},
		Invocations: []sarifInvocation{invocation(failures)},
		Results:     []sarifResult{},
	}
	for _, f := range list {
		run.Results = append(run.Results, s.result(f))
	}
	return encodeJSON(w, sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

const (
	homePage = "https://github.com/lockgen/lockgen"
	baseID   = "SRCROOT" // what file names are relative to: the directory that locklint ran in
)

// invocation says whether everything was looked at, and what was not.
func invocation(failures []string) sarifInvocation {
	run := sarifInvocation{Successful: len(failures) == 0, Notifications: []sarifNotification{}}
	for _, text := range failures {
		run.Notifications = append(run.Notifications, sarifNotification{Level: "error", Message: sarifMessage{Text: text}})
	}
	return run
}

func rules() []sarifRule {
	var list []sarifRule
	for _, c := range lockcheck.Checks {
		list = append(list, sarifRule{
			ID:                   c.ID,
			Name:                 ruleName(c.Title),
			ShortDescription:     sarifMessage{Text: c.Title},
			FullDescription:      sarifMessage{Text: c.Why()},
			Help:                 sarifMessage{Text: c.Explanation(), Markdown: c.Explanation()},
			HelpURI:              c.URL(),
			DefaultConfiguration: sarifConfig{Enabled: !c.Off, Level: level(c.Severity)},
			Properties:           sarifProperties{Tags: []string{"concurrency", "distributed-lock"}},
		})
	}
	return list
}

// ruleName is a title in the form that the standard asks for: LeaseNotReleasedOnEveryPath.
func ruleName(title string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(title, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		r, size := utf8.DecodeRuneInString(word)
		b.WriteRune(unicode.ToUpper(r))
		b.WriteString(word[size:])
	}
	return b.String()
}

func level(s lockcheck.Severity) string {
	if s == lockcheck.Info {
		return "note"
	}
	return string(s)
}

// A sarifPrinter remembers the lines of files, which it needs to count columns.
type sarifPrinter struct {
	dir   string
	lines map[string][]string
}

func (s *sarifPrinter) result(f finding) sarifResult {
	r := sarifResult{
		RuleID: f.ID, RuleIndex: ruleIndex(f.ID), Level: level(f.Severity),
		Message:      sarifMessage{Text: f.Message},
		Locations:    []sarifLocation{{Physical: s.physical(f.place)}},
		Suppressions: []sarifSuppression{},
		Fingerprints: map[string]string{"locklint/v2": fingerprint(knownAs(f, s.dir))},
	}
	for i, rel := range f.Related {
		r.Related = append(r.Related, sarifLocation{ID: &i, Physical: s.physical(rel.place),
			Message: &sarifMessage{Text: rel.Message}})
	}
	if f.Fix != nil {
		r.Fixes = []sarifFix{s.fix(f.Fix)}
	}
	if f.Silenced != nil {
		r.Suppressions = append(r.Suppressions, suppression(f.Silenced))
	}
	return r
}

func ruleIndex(id string) int {
	for i, c := range lockcheck.Checks {
		if c.ID == id {
			return i
		}
	}
	return -1
}

func suppression(by *silenced) sarifSuppression {
	s := sarifSuppression{Kind: "inSource", Status: "accepted", Justification: by.Reason}
	if by.By == "baseline" {
		s.Kind = "external"
	}
	return s
}

func (s *sarifPrinter) fix(f *fix) sarifFix {
	out := sarifFix{Description: sarifMessage{Text: f.Message}}
	for _, e := range f.Edits {
		rep := sarifReplacement{Deleted: s.region(e.at)}
		if e.New != "" {
			rep.Inserted = &sarifContent{Text: e.New}
		}
		artifact := s.artifact(e.File)
		if n := len(out.Changes); n > 0 && out.Changes[n-1].Artifact == artifact {
			out.Changes[n-1].Replacements = append(out.Changes[n-1].Replacements, rep)
		} else {
			out.Changes = append(out.Changes, sarifArtifactChange{Artifact: artifact,
				Replacements: []sarifReplacement{rep}})
		}
	}
	return out
}

func (s *sarifPrinter) physical(p place) sarifPhysical {
	return sarifPhysical{Artifact: s.artifact(p.File), Region: s.region(p)}
}

// fileURI is the URI of a path with slashes, whether it begins with one or with a drive.
func fileURI(path string) string {
	return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(path, "/")}).String()
}

// artifact names a file relative to the directory that locklint runs in, or in full if it is elsewhere.
func (s *sarifPrinter) artifact(name string) sarifArtifact {
	rel, err := filepath.Rel(s.dir, name)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return sarifArtifact{URI: fileURI(filepath.ToSlash(name))}
	}
	return sarifArtifact{URI: (&url.URL{Path: filepath.ToSlash(rel)}).EscapedPath(), URIBaseID: baseID}
}

func (s *sarifPrinter) region(p place) sarifRegion {
	return sarifRegion{
		StartLine: p.Line, StartColumn: s.column(p.File, p.Line, p.Column),
		EndLine: p.EndLine, EndColumn: s.column(p.File, p.EndLine, p.EndColumn),
	}
}

// column counts in UTF-16 code units what column counts in bytes. What is not UTF-8 counts as one unit for each byte,
// as editors show it.
func (s *sarifPrinter) column(file string, line, column int) int {
	lines, ok := s.lines[file]
	if !ok {
		lines = sourceLines(file) // without it, bytes are the best guess
		s.lines[file] = lines
	}
	if line < 1 || line > len(lines) || column < 1 || column-1 > len(lines[line-1]) {
		return column
	}
	units := 1
	for before := lines[line-1][:column-1]; before != ""; {
		r, size := utf8.DecodeRuneInString(before)
		units += max(1, utf16.RuneLen(r))
		before = before[size:]
	}
	return units
}
