package locks

import (
	"strings"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Expires reports whether an acquire's key can expire under its holder: it has a time to live, or gets one with
// EXPIRE.
func (ix *Set) Expires(a *rediscmd.Command) bool {
	return !a.NoTTL() || len(ix.ExpiriesOf(a)) > 0
}

// ExpiriesOf are the EXPIRE commands that follow an acquire on the same key.
func (ix *Set) ExpiriesOf(a *rediscmd.Command) []*rediscmd.Command {
	var list []*rediscmd.Command
	for _, c := range ix.Commands[a.Fn] {
		if c.Op != ops.Expire || c.Key.String() != a.Key.String() {
			continue
		}
		together := c.Call == a.Call && a.Pipe != rediscmd.Direct && c.Pipe == a.Pipe // as DoMulti of rueidis sends them
		if together || twoSteps(a, c) || c.Call != a.Call && ssax.ComesAfter(a.Call, c.Call) {
			list = append(list, c)
		}
	}
	return list
}

// twoSteps reports whether one call of the program sets a key and gives it an expiry, other than in a script.
func twoSteps(a, e *rediscmd.Command) bool {
	return e.Call == a.Call && a.Via != "" && a.Via == e.Via && a.NoTTL() && a.Name != "EVAL" && e.Name != "EVAL"
}

// Takeover returns the GETSET that belongs to an acquire: on the same key and with times as values, or in the
// acquire's own function if the key or the function says that it is about a lock.
func (ix *Set) Takeover(a *rediscmd.Command) *rediscmd.Command {
	for _, fn := range ix.Funcs {
		for _, s := range ix.Commands[fn] {
			if s.Op != ops.Swap || ix.InTest(s.Pos()) || speaksOfOther(s.Fn, s.Key) {
				continue
			}
			if ix.takesOver(a, s) {
				return s
			}
		}
	}
	return nil
}

func (ix *Set) takesOver(a, s *rediscmd.Command) bool {
	timed := isTimed(s.Value) || isTimed(a.Value)
	if a.Fn == s.Fn {
		return a.Key.String() == s.Key.String() && (timed || speaksOfLock(a.Key) || lockWord.MatchString(a.Fn.Name()))
	}
	return timed && ix.Related(a, s) &&
		(ssax.ReceiverName(a.Fn) != "" && ssax.ReceiverName(a.Fn) == ssax.ReceiverName(s.Fn) || speaksOfLock(a.Key))
}

// IsTimeLock reports whether the value of an acquire is the time at which the lock ends.
func (ix *Set) IsTimeLock(a *rediscmd.Command) bool {
	adds := func(k keyexpr.Expr) bool { return k.Text == keyexpr.Add || k.Text == "(time.Time).Add" }
	return isTimed(a.Value) && a.Value.Any(adds) || ix.Takeover(a) != nil
}

// isTimed reports whether a value is made of the time.
func isTimed(k keyexpr.Expr) bool {
	return k.Any(func(k keyexpr.Expr) bool {
		return k.Op == keyexpr.Call && (k.Text == "time.Now" || strings.HasPrefix(k.Text, "(time.Time)."))
	})
}

// TakesOverAlone reports whether a GETSET is a lock by itself: its name says so, and its value is the time at which the
// lock ends.
func (ix *Set) TakesOverAlone(s *rediscmd.Command) bool {
	return s.Op == ops.Swap && s.Via == "" && s.Key.Known() && !ix.InTest(s.Pos()) && !speaksOfOther(s.Fn, s.Key) &&
		saysLock(s) && isTimed(s.Value)
}
