package ll1017

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
)

// mixed says in what the kinds of two keys differ, and what comes of it, "" if they do not.
func mixed(here, there directive.Pattern) string {
	switch {
	case here.Permits == there.Permits:
		return ""
	case here.Permits == 0 || there.Permits == 0:
		return fmt.Sprintf("%s here and %s there: holders of a permit and others keep each other out, so nobody but one kind "+
			"works at a time; give both the same permits, or keys of their own", directive.Permits(here.Permits), directive.Permits(there.Permits))
	}
	return fmt.Sprintf("%s here and %s there: each counts all holders and has a limit of its own; give both the same number, "+
		"by a constant", directive.Permits(here.Permits), directive.Permits(there.Permits))
}

// checkKinds reports constant keys that calls of the package take with different numbers of permits. Those of generated
// code are the directives' business.
func checkKinds(r *check.Reporter) {
	type seen struct {
		permits int
		call    ssa.CallInstruction
	}
	first := map[string]seen{}
	for _, s := range r.Criticals() {
		if s.Call == nil || r.Index.InTest(s.Pos) || r.Ignores.Generated[r.Pass.Fset.Position(s.Pos).Filename] {
			continue
		}
		for _, key := range r.Index.Leases.ConstantKeys(s.Call) {
			other, ok := first[key.Text]
			if !ok {
				first[key.Text] = seen{key.Permits, s.Call}
				continue
			}
			text := mixed(directive.Pattern{Permits: key.Permits}, directive.Pattern{Permits: other.permits})
			if text == "" {
				continue
			}
			pos, end := r.CallSpan(s.Call)
			r.Report(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("the lock %q is also taken at %s, with %s", key.Text,
					r.Place(other.call.Common().Pos(), pos), text),
				Related: []analysis.RelatedInformation{{Pos: other.call.Common().Pos(), Message: "also taken here"}},
			})
		}
	}
}
