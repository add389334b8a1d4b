// Package ll2003 is the check LL2003; see doc.md.
package ll2003

import (
	_ "embed"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/locks"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL2003.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Run: checkTokens})

// checkTokens reports locks whose value cannot tell one holder from the next. A constant never can; a host or a time
// is reported only where the release relies on it, because elsewhere it is no token but a note for people.
func checkTokens(r *check.Reporter) {
	comparing := map[*rediscmd.Command]bool{}
	for _, l := range r.Index.Locks {
		if l.Release.Op == ops.CompareDel || r.Index.OwnerCompared(l.Release) != nil {
			comparing[l.Acquire.Root()] = true
		}
	}
	done := map[*rediscmd.Command]bool{}
	for _, l := range slices.Concat(r.Index.Locks, r.Index.Renewals) {
		a := l.Acquire
		whose := a
		if a.Root().Value.Op == keyexpr.Lit {
			whose = a.Root() // the wrapper's own choice
		}
		if l.Judged || done[whose] || a.Wrong != "" || !r.Index.Expires(a) || r.Index.InTest(a.Pos()) ||
			r.Index.IsTimeLock(a) {
			continue
		}
		fault := tokenFault(r.Index, l, comparing[a.Root()])
		if fault == "" {
			continue
		}
		done[whose] = true
		a = whose
		pos, end := r.Span(a)
		r.ReportOnce(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("the token that %s stores is %s: once this lock has expired, its old holder cannot tell its "+
				"own key from the next holder's; make a random token for each acquisition",
				a.What(), fault),
			Related: []analysis.RelatedInformation{{Pos: l.Release.Pos(), Message: role(l)}},
		})
	}
}

// role says what the other command of a lock does.
func role(l *locks.Lock) string {
	if l.Release.Op == ops.Expire {
		return "the lock is prolonged here"
	}
	return "the lock is released here"
}

// A sameness says for whom a value is the same.
type sameness uint8

const (
	ownValue     sameness = iota // possibly different for each acquisition
	always                       // constant
	perHost                      // the same in all goroutines, or even all processes of a host
	perGoroutine                 // the same in a goroutine, and in one of another host
	perSecond                    // the time
	perMillisecond
)

// leaderWord marks locks that belong to a process on purpose, however often it asks.
var leaderWord = regexp.MustCompile(`(?i)leader|elect|master|primary|owner|instance|node|worker|sched`)

// speaksOfLeader reports whether a part of a key does, other than by the path of a package.
func speaksOfLeader(k keyexpr.Expr) bool {
	text := k.Text
	switch k.Op {
	case keyexpr.Param, keyexpr.Local:
		return false
	case keyexpr.Call, keyexpr.Field, keyexpr.Global:
		text = lastElem(text)
	}
	return leaderWord.MatchString(text)
}

// tokenFault says in which way the value of an acquire is not unique, "" if it may be.
func tokenFault(ix *index.Index, l *locks.Lock, compared bool) string {
	a := l.Acquire
	if !a.Value.Known() {
		return ""
	}
	if a.Value.Op != keyexpr.Lit && a.Value.String() == a.Key.String() {
		return "the key itself"
	}
	if text, ok := ix.Constant(a.Value, a.Fn); ok && a.Value.Op == keyexpr.Field {
		return fmt.Sprintf("the constant %q", text)
	}
	bare := withoutKey(a.Value, a.Key)
	same := samenessOf(ix, bare, 0)
	switch {
	case saysNothingNew(ix, a, bare):
		return "made of nothing but what the key is made of, and so the same for everybody who takes this lock"
	case same == always && bare.String() != a.Value.String():
		return ""
	case same == always && a.Value.Op == keyexpr.Lit:
		return fmt.Sprintf("the constant %q", a.Value.Text)
	case same == always:
		return "a constant"
	case !compared || leaderWord.MatchString(a.Fn.Name()) || a.Key.Any(speaksOfLeader) ||
		leaderWord.MatchString(lastElem(ssax.ReceiverName(a.Fn))):
		return ""
	case ofMaker(ix, a):
		return "the same for everybody who locks through one " + lastElem(ssax.ReceiverName(a.Fn))
	case ofConfig(ix, a):
		return "what the process is called"
	case ofUser(l, bare):
		return "the ID of a user, whose next request has the same"
	case ofKept(ix, a):
		return "that of an object which is kept and handed out to everybody who asks for this lock"
	case same == perHost && keptAlive(ix, a):
		return ""
	case same == perHost:
		return "the same for all goroutines of the process"
	case same == perGoroutine:
		return "the number of a goroutine, which the next acquisition can share, and so can one on another host"
	case same == perSecond:
		return "the time in seconds, which two acquisitions can share"
	case same == perMillisecond:
		return "the time in milliseconds, which two acquisitions can share"
	}
	return ""
}

// samenessOf classifies a value by the parts that it is made of.
func samenessOf(ix *index.Index, k keyexpr.Expr, depth int) sameness {
	if depth > keyexpr.MaxDepth {
		return ownValue
	}
	switch k.Op {
	case keyexpr.Lit:
		return always
	case keyexpr.Global:
		return samenessOfVariable(ix, k, depth)
	case keyexpr.Call:
		switch name := k.Text; {
		case name == "os.Hostname#0", name == "os.Getpid", name == "os.Getppid", name == "os.Getenv",
			name == "os.LookupEnv#0":
			return perHost
		case ofFunction(ix, k, depth) == perHost:
			return perHost
		case len(k.Args) == 0 && goroutineName.MatchString(lastElem(name)):
			return perGoroutine
		case len(k.Args) == 0 && processName.MatchString(lastElem(name)):
			return perHost
		case name == "(time.Time).Unix" && len(k.Args) == 1 && k.Args[0].Text == "time.Now", isSeconds(k):
			return perSecond
		case isMillis(k):
			return perMillisecond
		case name != keyexpr.Add && name != keyexpr.Raw && name != "encoding/json.Marshal#0" &&
			!strings.HasPrefix(name, "strconv.") && !strings.HasPrefix(name, "fmt.Sprint"):
			return ownValue
		}
	case keyexpr.Concat:
	case keyexpr.Local:
		return ofChoice(ix, k, depth)
	case keyexpr.Field:
		return storedIn(ix, k.Text, depth)
	default:
		return ownValue
	}
	worst := always
	for _, part := range k.Args {
		switch same := samenessOf(ix, part, depth+1); {
		case same == ownValue:
			return ownValue
		case worst == always, worst == perHost && same == perGoroutine:
			worst = same
		case worst == perGoroutine && same == perHost:
		case same != always && same != worst:
			return ownValue // a host and a time: rarely the same
		}
	}
	return worst
}

// What functions of the program are called that tell the process, the host or the goroutine that they run in.
var (
	goroutineName = regexp.MustCompile(`(?i)goroutine_?id|\bgoid\.|(?-i:[a-z.]GoI[dD])`)
	processName   = regexp.MustCompile(`(?i)(?:process_?id|\.(?:get_?)?pid|host_?name|` +
		`(?:local|host|internal|own)_?ip(?:v?4)?)(?:str|string)?(?:#0)?$`)
)

// ofMaker reports whether the value of an acquire is that of the object which locks: a field that is set when the
// object is made, from a parameter that names the process or to a value made there, and never again, while each caller
// names a key of its own. The object is there for many.
func ofMaker(ix *index.Index, a *rediscmd.Command) bool {
	if a.Value.Op != keyexpr.Field || len(a.Value.Args) != 1 || a.Value.Args[0].String() != receiver.String() ||
		!a.Key.Any(func(k keyexpr.Expr) bool { return k.Op == keyexpr.Param && k.Text != receiver.Text }) {
		return false
	}
	stored := 0
	for _, fn := range ix.Shipped {
		for _, k := range locks.StoredBy(fn, a.Value.Text) {
			if ssax.ReceiverName(fn) == ssax.ReceiverName(a.Fn) || !namesProcess(fn, k) && !madeForMany(fn, k, a) {
				return false
			}
			stored++
		}
	}
	return stored > 0
}

// namesProcess reports whether a value is a parameter that says by its name that it is the process.
func namesProcess(fn *ssa.Function, k keyexpr.Expr) bool {
	param, err := strconv.Atoi(k.Text)
	return k.Op == keyexpr.Param && err == nil && processWord.MatchString(fn.Params[param].Name())
}

// madeForMany reports whether a value is made, out of nothing that a caller gives, in the function that returns an
// object which is there for many locks by the name of its type.
func madeForMany(fn *ssa.Function, k keyexpr.Expr, a *rediscmd.Command) bool {
	made := k.Op == keyexpr.Call || k.Op == keyexpr.Concat
	for v := range fn.Signature.Results().Variables() {
		recv := ssax.FullTypeName(v.Type())
		if made && recv == ssax.ReceiverName(a.Fn) && manyWord.MatchString(recv) {
			return k.Known() && !k.Any(func(k keyexpr.Expr) bool {
				return k.Op == keyexpr.Param || k.Op == keyexpr.Local || k.Op == keyexpr.Field || k.Op == keyexpr.Each
			})
		}
	}
	return false
}

// manyWord marks types of which a program has one object.
var manyWord = regexp.MustCompile(`(?i)(?:locker|manager|mgr|service|client|store|factory|provider|repo(?:sitory)?|` +
	`coordinator)s?$|locks$`)

// processWord marks what a process is called.
var processWord = regexp.MustCompile(`(?i)instance|node|host|server|worker|process|pod|machine|ident(?:ity|ifier)`)

var receiver = keyexpr.Expr{Op: keyexpr.Param, Text: "0"}

// isMillis reports whether an expression is the time in milliseconds, as UnixMilli or as UnixNano divided.
func isMillis(k keyexpr.Expr) bool {
	if k.Text == keyexpr.Quo && len(k.Args) == 2 && k.Args[0].Text == "(time.Time).UnixNano" {
		n, ok := k.Args[1].Number()
		return ok && n.Cmp(big.NewRat(1e6, 1)) >= 0 && k.Args[0].Args[0].Text == "time.Now"
	}
	return k.Text == "(time.Time).UnixMilli" && len(k.Args) == 1 && k.Args[0].Text == "time.Now"
}

// storedIn tells a field that is only ever set to the time, or to what names a host, from one that may be different
// each time.
func storedIn(ix *index.Index, field string, depth int) sameness {
	same := ownValue
	for i, k := range ix.StoredIn(field) {
		of := samenessOf(ix, k, depth+1)
		if of == ownValue || of == always || i > 0 && of != same {
			return ownValue
		}
		same = of
	}
	return same
}

// samenessOfVariable looks at what a package variable is set to when the program starts, if that is all.
func samenessOfVariable(ix *index.Index, k keyexpr.Expr, depth int) sameness {
	g := ix.Pkg.Var(strings.TrimPrefix(k.Text, ix.Pass.Pkg.Path()+"."))
	if g == nil {
		return ownValue
	}
	if setAtStart(ix, g) {
		return perHost
	}
	if ix.Assigned(g) {
		return ownValue
	}
	init := ssax.GlobalInit(g)
	if init == nil {
		return ownValue
	}
	if samenessOf(ix, keyexpr.Of(init), depth+1) == always {
		return always
	}
	return perHost
}

// lastElem is a type's or function's name without the path of its package.
func lastElem(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
