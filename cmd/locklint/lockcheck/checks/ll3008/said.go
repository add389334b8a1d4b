package ll3008

import (
	"regexp"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
)

// leftToExpiry reports whether a comment right above a release says that the lock may as well be left to its expiry.
func leftToExpiry(r *check.Reporter, release ssa.CallInstruction) bool {
	at := r.Pass.Fset.Position(release.Pos())
	for _, file := range r.Pass.Files {
		if release.Pos() < file.FileStart || release.Pos() > file.FileEnd {
			continue
		}
		for _, group := range file.Comments {
			line := r.Pass.Fset.Position(group.End()).Line
			if (line == at.Line-1 || line == at.Line) && mayExpire.MatchString(group.Text()) {
				return true
			}
		}
	}
	return false
}

// mayExpire finds what people say of a release that need not succeed.
var mayExpire = regexp.MustCompile(`(?i)expires? (?:on its own|by itself|anyway)|(?:acceptable|fine|ok(?:ay)?)\b[^.]*\bexpires?\b|` +
	`\bexpires?\b[^.]*\b(?:acceptable|fine|ok(?:ay)?)\b`)
