package sqlcalls

import (
	"regexp"
	"strings"
)

// The statements that take locks. What stands behind other statements, as in the body of a function that a migration
// creates, is none that the program runs.
var (
	selects         = regexp.MustCompile(`(?i)^\s*SELECT\b`)
	sessionLock     = regexp.MustCompile(selected + `(?:pg_(?:try_)?advisory_lock(?:_shared)?|GET_LOCK)\s*\(`)
	tryLock         = regexp.MustCompile(selected + `(?:pg_try_advisory_(?:xact_)?lock(?:_shared)?|GET_LOCK)\s*\(`)
	unlock          = regexp.MustCompile(`(?i)\b(?:pg_advisory_unlock|RELEASE_(?:ALL_)?LOCKS?\b|DISCARD\s+ALL\b)`)
	rowLock         = regexp.MustCompile(`(?i)\b(?:FOR\s+(?:NO\s+KEY\s+)?UPDATE|FOR\s+(?:KEY\s+)?SHARE|LOCK\s+IN\s+SHARE)\b`)
	transactionLock = regexp.MustCompile(`(?i)^\s*SELECT\s+pg_(?:try_)?advisory_xact_lock(?:_shared)?\s*\(`)
)

// selected is the beginning of a SELECT that calls a function.
const selected = `(?i)^\s*SELECT\b[^;]*\b`

// outermost is a statement without what stands in parentheses.
func outermost(text string) string {
	var b strings.Builder
	depth := 0
	for _, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}
