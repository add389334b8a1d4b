package ll1004

import (
	"go/ast"
	"go/constant"
	"strconv"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// jobDiffers compares the registration of a job with its directive.
func (s *staleness) jobDiffers(p *protection) {
	d := s.fn.Directive
	s.textDiffers("job", d.Job, strconv.Quote(s.fn.JobName(s.r.Pass.Pkg.Path())), p.fields["Name"])
	s.textDiffers("cron", d.Cron, "missing", p.fields["Spec"])
	s.textDiffers("tz", d.TZ, "missing", p.fields["TZ"])
	s.lockDiffers(p)
	s.wordDiffers("misfire", "Misfire", d.Misfire, p.fields["Misfire"])
	s.wordDiffers("overlap", "Overlap", d.Overlap, p.fields["Overlap"])
	s.durationDiffers("timeout", d.Timeout, p.fields["Timeout"])
	s.retriesDiffer(d.Retries, p.fields["Retries"])
	s.durationDiffers("jitter", d.Jitter, p.fields["Jitter"])
}

// wordDiffers compares an option that is a word with the constant of package jobs that stands for it.
func (s *staleness) wordDiffers(option, prefix string, want *directive.String, got ast.Expr) {
	at, wantText, gotText := directive.Arg{}, "missing", "missing"
	if want != nil {
		at, wantText = want.Arg, want.Value
	}
	if got != nil {
		word, ok := strings.CutPrefix(lastName(got), prefix)
		if !ok {
			return
		}
		gotText = strings.ToLower(word)
	}
	if wantText != gotText {
		s.differs(at, option, wantText, gotText)
	}
}

func (s *staleness) retriesDiffer(want *directive.Int, got ast.Expr) {
	at, wantText, gotText := directive.Arg{}, "0", "0"
	if want != nil {
		at, wantText = want.Arg, strconv.Itoa(want.Value)
		if want.Const != nil {
			if s.isConst(want.Const, got) || want.Const.Object == nil {
				return
			}
			wantText = want.Const.String()
		}
	}
	if got != nil {
		if c := s.constantOf(got); c != nil {
			gotText = s.refText(c)
		} else if v := s.r.Pass.TypesInfo.Types[got].Value; v != nil && v.Kind() == constant.Int {
			gotText = v.ExactString()
		} else {
			return
		}
	}
	if wantText != gotText {
		s.differs(at, "retries", wantText, gotText)
	}
}
