// Package ll1018 is the check LL1018; see doc.md.
package ll1018

import (
	_ "embed"
	"fmt"
	"regexp"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/fences"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL1018.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Run: checkReaders})

// checkReaders reports writes in sections whose locks are all held to read. A write that stands in another section, too,
// under a lock that is held alone, is that one's.
func checkReaders(r *check.Reporter) {
	elsewhere := map[ssa.CallInstruction]bool{}
	for _, s := range r.Criticals() {
		if !s.All(leases.Reads) {
			for _, call := range s.Calls() {
				elsewhere[call] = true
			}
		}
	}
	done := map[ssa.CallInstruction]bool{}
	for _, s := range r.Criticals() {
		if !s.All(leases.Reads) || r.Index.InTest(s.Pos) {
			continue
		}
		for _, call := range s.Calls() {
			what := written(r, call.Common())
			if what == "" || elsewhere[call] || done[call] {
				continue
			}
			done[call] = true
			report(r, s, call, what)
		}
	}
}

func report(r *check.Reporter, s *sections.Section, call ssa.CallInstruction, what string) {
	pos, end := r.CallSpan(call)
	r.Report(analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("%s writes %s under the lock from %s at %s, which is held to read: other readers hold it at the "+
			"same time and read or write the same; take the lock to write (mode=write), or Downgrade after the writing",
			r.CallText(call), what, s.Name, r.Place(s.Pos, pos)),
		Related: []analysis.RelatedInformation{{Pos: s.Pos, Message: "acquired to read here"}},
	})
}

// noteWord marks what readers may leave behind: notes of what they did, which no reader relies on.
var noteWord = regexp.MustCompile(`(?i)(^|[^a-z])logs?($|[^a-z])|audit|event|history|metric|stat(s|istics)?($|[^a-z])|visit|` +
	`view|(^|[^a-z])hits?($|[^a-z])|seen|last_|access|trace|outbox|session|cache|count($|[^a-z])`)

// written says what a call writes, "" if it is nothing that the lock may be there for.
func written(r *check.Reporter, c *ssa.CallCommon) string {
	for _, table := range fences.WrittenTables(c, r.Index.Pkg) {
		if !noteWord.MatchString(table) {
			return "the table " + table
		}
	}
	m, ok := ssax.MethodOf(c)
	if !ok || m.Recv == nil || !rediscmd.IsGoRedis(m) || !changes.MatchString(m.Obj.Name()) || m.Arg(0) == nil {
		return ""
	}
	k := keyexpr.Of(m.Arg(0))
	if !k.Known() || !k.Distinctive() || noteWord.MatchString(k.String()) {
		return ""
	}
	return "the key " + k.Quoted()
}

// changes are the commands of Redis that replace what others read. Counting and appending are not.
var changes = regexp.MustCompile(`^(Set|SetEx|SetXX|GetSet|Del|Unlink|Rename|HSet|HMSet|HDel|LSet|LTrim|LRem|SRem|ZRem|MSet)$`)
