package ll1004

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
)

// A staleness collects what is different between a function and its wrapper.
type staleness struct {
	r       *check.Reporter
	fn      *directive.Func
	wrapper *declaration
	at      directive.Arg // of the first difference that belongs to an option
	list    []string
}

// compare compares the fingerprint that the function asks for with the one that the wrapper has.
func (s *staleness) compare() {
	w, name := s.wrapper, s.wrapper.decl.Name.Name
	if !w.known {
		s.add(directive.Arg{}, "%s in %s does not say what it was made from", name, w.file)
		return
	}
	now, then := s.fn.Fingerprint(), w.made
	if then.Func != now.Func {
		s.add(directive.Arg{}, "%s runs %s in %s instead of %s", name, then.Func, w.file, now.Func)
		return
	}
	if then.Directive != now.Directive {
		s.optionsDiffer(then.Directive)
	}
	if name != s.fn.Name && len(s.list) == 0 {
		s.add(directive.Arg{}, "the wrapper's name is %s, in %s it is %s", s.fn.Name, w.file, name)
	}
	if then.Signature != now.Signature {
		s.add(directive.Arg{}, "%s is now %s, in %s its wrapper is %s", now.Func, types.ExprString(s.fn.Decl.Type), w.file,
			types.ExprString(w.decl.Type))
	}
	if then.Sources != now.Sources && !s.fn.NeedsTypes && len(s.list) == 0 {
		s.add(directive.Arg{}, "the Locker or the database is not the one that %s was made for", w.file)
	}
	s.valuesDiffer(now.Values, then.Values)
	if len(s.list) == 0 && then.Code != directive.CodeSum(s.r.Pass.Fset, w.decl) {
		s.add(directive.Arg{}, "%s in %s has been changed by hand", name, w.file)
	}
}

// optionsDiffer compares the directive with the one that the wrapper was made from.
func (s *staleness) optionsDiffer(written string) {
	then, problems := directive.Parse([]directive.Line{{Pos: 1, Text: strings.TrimPrefix(written, "//lock:")}})
	if len(problems) > 0 {
		s.add(directive.Arg{}, "what %s in %s was made from has been changed by hand", s.wrapper.decl.Name.Name, s.wrapper.file)
		return
	}
	for _, d := range directive.Differences(s.fn.Directive, then) {
		if d.Name == "key" {
			d.Name = "the key"
		}
		s.add(d.Arg, "%s is %s in the directive, %s in %s", d.Name, d.Now, d.Then, s.wrapper.file)
	}
}

// valuesDiffer compares how the values in keys are read, where the keys are the same. What is not known, because the
// package does not compile, counts as equal.
func (s *staleness) valuesDiffer(now, then []string) {
	if len(now) != len(then) || len(s.list) > 0 {
		return
	}
	for i, key := range s.fn.Keys {
		if now[i] != "" && now[i] != then[i] {
			s.add(key.Key.Arg, "the values in the key %s have other types than %s was made for", key.Key, s.wrapper.file)
		}
	}
}

// add notes a difference. The argument is zero if it does not come from an option.
func (s *staleness) add(at directive.Arg, format string, args ...any) {
	if s.at.Name == "" {
		s.at = at
	}
	s.list = append(s.list, fmt.Sprintf(format, args...))
}

func (s *staleness) report() {
	if len(s.list) == 0 {
		return
	}
	d := s.fn.Directive
	pos, end := d.Pos(), d.End()
	if s.at.Name != "" {
		pos, end = s.at.Pos, s.at.End
	}
	s.r.Report(analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("generated code is stale: %s; %s", strings.Join(slices.Compact(s.list), ", and "), runLockgen),
		Related: []analysis.RelatedInformation{{Pos: s.wrapper.decl.Name.Pos(), Message: "this wrapper is stale"}},
	})
}
