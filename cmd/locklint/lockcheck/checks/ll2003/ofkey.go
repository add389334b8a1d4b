package ll2003

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/locks"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file knows values that differ from lock to lock, but not from one holder of a lock to the next: what the key is
// made of as well, the user who asks, and the name of a process as the configuration has it.

// withoutKey is a value with a constant for whatever the key is made of, too: all who take that lock put the same there.
func withoutKey(value, key keyexpr.Expr) keyexpr.Expr {
	parts := map[string]bool{}
	collectParts(key, parts)
	return replaceParts(value, parts)
}

// collectParts notes what a key is made of, as far as it stands in the key as it is.
func collectParts(k keyexpr.Expr, parts map[string]bool) {
	switch {
	case isPart(k):
		parts[k.String()] = true
	case writesDown(k), k.Op == keyexpr.Call && keyMaker.MatchString(k.Text):
		for _, a := range k.Args {
			collectParts(a, parts)
		}
	}
}

func replaceParts(k keyexpr.Expr, parts map[string]bool) keyexpr.Expr {
	switch {
	case isPart(k) && parts[k.String()]:
		return keyexpr.Expr{Op: keyexpr.Lit}
	case !writesDown(k):
		return k
	}
	out := keyexpr.Expr{Op: k.Op, Text: k.Text}
	for _, a := range k.Args {
		out.Args = append(out.Args, replaceParts(a, parts))
	}
	if out.Op == keyexpr.Call && textMethod.MatchString(out.Text) && len(out.Args) == 1 && out.Args[0].Op == keyexpr.Lit {
		return out.Args[0]
	}
	return out
}

// isPart reports whether an expression is something that a function is given or reads, and does not make.
func isPart(k keyexpr.Expr) bool {
	return k.Op == keyexpr.Param || k.Op == keyexpr.Local || k.Op == keyexpr.Field
}

// writesDown reports whether an expression is a text of its parts, from which they can be read again.
func writesDown(k keyexpr.Expr) bool {
	return k.Op == keyexpr.Concat || k.Op == keyexpr.Call && (strings.HasPrefix(k.Text, "fmt.Sprint") ||
		strings.HasPrefix(k.Text, "strconv.") || textMethod.MatchString(k.Text))
}

var (
	textMethod = regexp.MustCompile(`\)\.(?:String|Hex)$`)
	keyMaker   = regexp.MustCompile(`(?i)[a-z_.]key(?:of|for|name)?$`)
)

// saysNothingNew reports whether all of a value that is not constant stands in the key.
func saysNothingNew(ix *index.Index, a *rediscmd.Command, bare keyexpr.Expr) bool {
	return bare.String() != a.Value.String() && samenessOf(ix, bare, 0) == always && !a.Key.Any(speaksOfLeader) && !keptAlive(ix, a)
}

// ofUser reports whether a lock that one function takes and releases has the user's ID as its token, and another key: it
// is there for the length of a request, and the user's next one has the same token.
func ofUser(l *locks.Lock, bare keyexpr.Expr) bool {
	return l.Acquire.Fn == l.Release.Fn && bare.Op != keyexpr.Lit && isUserText(l.Acquire, bare)
}

// isUserText reports whether a value is made of constants and the names of users.
func isUserText(a *rediscmd.Command, k keyexpr.Expr) bool {
	if k.Op == keyexpr.Lit || isUser(a, k) {
		return true
	}
	if !writesDown(k) {
		return false
	}
	for _, part := range k.Args {
		if !isUserText(a, part) {
			return false
		}
	}
	return true
}

// isUser reports whether an expression says by its name that it is the ID of a user.
func isUser(a *rediscmd.Command, k keyexpr.Expr) bool {
	switch k.Op {
	case keyexpr.Param:
		i, err := strconv.Atoi(k.Text)
		return err == nil && i < len(a.Fn.Params) && userName.MatchString(a.Fn.Params[i].Name())
	case keyexpr.Field:
		owner, field := cutLast(k.Text)
		return userName.MatchString(field) || field == "ID" && userType.MatchString(owner)
	}
	return false
}

var (
	userName = regexp.MustCompile(`^(?i:(?:user|customer|member|account|player|buyer|patient|passenger|rider)_?id|uid)$`)
	userType = regexp.MustCompile(`(?i)(?:^|[./])(?:user|customer|member|account|player)$`)
)

// ofConfig reports whether the value of an acquire is what a process is called in a field that others set, as in the
// configuration of the object that locks, while each caller names a key of its own.
func ofConfig(ix *index.Index, a *rediscmd.Command) bool {
	root := a.Value
	for root.Op == keyexpr.Field && len(root.Args) == 1 {
		root = root.Args[0]
	}
	_, field := cutLast(a.Value.Text)
	if a.Value.Op != keyexpr.Field || root.String() != receiver.String() || ssax.ReceiverName(a.Fn) == "" ||
		!configured.MatchString(field) || !a.Key.Any(func(k keyexpr.Expr) bool {
		return k.Op == keyexpr.Param && k.Text != receiver.Text
	}) {
		return false
	}
	for _, fn := range ix.Shipped {
		for _, k := range locks.StoredBy(fn, a.Value.Text) {
			if ssax.ReceiverName(fn) == ssax.ReceiverName(a.Fn) || k.Any(func(k keyexpr.Expr) bool { return k.Op == keyexpr.Call }) {
				return false
			}
		}
	}
	return true
}

// configured marks the fields of what a process is called.
var configured = regexp.MustCompile(`^(?i:(?:instance|node|host|server|process|pod|machine|replica|service)_?(?:id|name)|hostname|identity)$`)

// cutLast cuts the name of a field from that of its type.
func cutLast(name string) (owner, field string) {
	i := strings.LastIndexByte(name, '.')
	return name[:max(i, 0)], name[i+1:]
}
