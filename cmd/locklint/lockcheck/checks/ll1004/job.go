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
	s.keysLaterDiffers(p)
	s.wordDiffers("misfire", "Misfire", d.Misfire, p.fields["Misfire"])
	s.wordDiffers("overlap", "Overlap", d.Overlap, p.fields["Overlap"])
	s.durationDiffers("timeout", d.Timeout, p.fields["Timeout"])
	s.retriesDiffer(d.Retries, p.fields["Retries"])
	s.durationDiffers("jitter", d.Jitter, p.fields["Jitter"])
}

// keysLaterDiffers compares when the keys are built: before each run if what they read may change.
func (s *staleness) keysLaterDiffers(p *protection) {
	pointer := false
	if recv := p.decl.Recv; recv != nil && len(recv.List) == 1 {
		_, pointer = ast.Unparen(recv.List[0].Type).(*ast.StarExpr)
	}
	for _, key := range s.fn.Keys {
		for _, part := range key.Parts {
			if part.Hole != nil && (part.Value == nil || part.Value.Type == nil && part.Value.Kind == directive.KindLen) {
				return // nobody knows
			}
		}
	}
	switch want := s.fn.KeysChange(pointer); {
	case want && !p.later:
		s.add(s.fn.Keys[0].Key.Arg, "what the job's keys read may change, and %s builds them once", s.file)
	case !want && p.later:
		s.add(s.fn.Keys[0].Key.Arg, "the job's keys cannot change, and %s builds them before each run", s.file)
	}
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
