package lockcheck

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

var ll2003 = newCheck("LL2003", "token is a constant or not unique per acquisition", Warning, false, checkTokens)

// checkTokens reports locks whose value cannot tell one holder from the next. A constant never can; a host or a time
// is reported only where the release relies on it, because elsewhere it is no token but a note for people.
func checkTokens(r *reporter) {
	comparing := map[*command]bool{}
	for _, l := range r.index.locks {
		if l.release.op == opCompareDel || r.index.ownerCompared(l.release) != nil {
			comparing[l.acquire.root()] = true
		}
	}
	done := map[*command]bool{}
	for _, l := range slices.Concat(r.index.locks, r.index.renewals) {
		a := l.acquire
		if l.judged || done[a.root()] || a.wrong != "" || !r.index.expires(a) || r.index.inTest(a.pos()) ||
			r.index.isTimeLock(a) {
			continue
		}
		fault := r.index.tokenFault(a, comparing[a.root()])
		if fault == "" {
			continue
		}
		done[a.root()] = true
		if a.root().value.Op == keyLit {
			a = a.root() // the wrapper's own choice
		}
		pos, end := r.span(a)
		r.report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("the token that %s stores is %s: once this lock has expired, its old holder cannot tell its "+
				"own key from the next holder's; make a random token for each acquisition",
				a.what(), fault),
			Related: []analysis.RelatedInformation{{Pos: l.release.pos(), Message: l.role()}},
		})
	}
}

// role says what the other command of a lock does.
func (l *lock) role() string {
	if l.release.op == opExpire {
		return "the lock is prolonged here"
	}
	return "the lock is released here"
}

// A sameness says for whom a value is the same.
type sameness uint8

const (
	ownValue  sameness = iota // possibly different for each acquisition
	always                    // constant
	perHost                   // the same in all goroutines, or even all processes of a host
	perSecond                 // the time
)

// leaderWord marks locks that belong to a process on purpose, however often it asks.
var leaderWord = regexp.MustCompile(`(?i)leader|elect|master|primary|owner|instance|node|worker|sched`)

// tokenFault says in which way the value of an acquire is not unique, "" if it may be.
func (ix *index) tokenFault(a *command, compared bool) string {
	if !a.value.known() {
		return ""
	}
	if a.value.Op != keyLit && a.value.String() == a.key.String() {
		return "the key itself"
	}
	same := ix.sameness(a.value, 0)
	switch {
	case same == always && a.value.Op == keyLit:
		return fmt.Sprintf("the constant %q", a.value.Text)
	case same == always:
		return "a constant"
	case !compared || leaderWord.MatchString(a.fn.Name()) || leaderWord.MatchString(a.key.String()) ||
		leaderWord.MatchString(lastElem(receiverName(a.fn))):
		return ""
	case same == perHost:
		return "the same for all goroutines of the process"
	case same == perSecond:
		return "the time in seconds, which two acquisitions can share"
	}
	return ""
}

// sameness classifies a value by the parts that it is made of.
func (ix *index) sameness(k keyExpr, depth int) sameness {
	if depth > maxKeyDepth {
		return ownValue
	}
	switch k.Op {
	case keyLit:
		return always
	case keyGlobal:
		return ix.samenessOfVariable(k, depth)
	case keyCall:
		switch name := k.Text; {
		case name == "os.Hostname#0", name == "os.Getpid", name == "os.Getppid":
			return perHost
		case name == "(time.Time).Unix" && len(k.Args) == 1 && k.Args[0].Text == "time.Now":
			return perSecond
		case name != opAdd && name != opRaw && !strings.HasPrefix(name, "strconv.") && !strings.HasPrefix(name, "fmt.Sprint"):
			return ownValue
		}
	case keyConcat:
	default:
		return ownValue
	}
	worst := always
	for _, part := range k.Args {
		switch same := ix.sameness(part, depth+1); {
		case same == ownValue:
			return ownValue
		case worst == always:
			worst = same
		case same != always && same != worst:
			return ownValue // a host and a time: rarely the same
		}
	}
	return worst
}

// samenessOfVariable looks at what a package variable is set to when the program starts, if that is all.
func (ix *index) samenessOfVariable(k keyExpr, depth int) sameness {
	g := ix.pkg.Var(strings.TrimPrefix(k.Text, ix.pass.Pkg.Path()+"."))
	if g == nil || ix.assigned(g) {
		return ownValue
	}
	init := globalInit(g)
	if init == nil {
		return ownValue
	}
	if ix.sameness(keyOf(init), depth+1) == always {
		return always
	}
	return perHost
}
