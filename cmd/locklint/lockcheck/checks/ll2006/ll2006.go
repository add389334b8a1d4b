// Package ll2006 is the check LL2006; see doc.md.
package ll2006

import (
	_ "embed"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

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

// Check is LL2006.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Run: checkArguments})

// checkArguments reports acquires and expiries of locks that do not mean what they say: arguments that the server
// rejects, and times in the wrong unit.
func checkArguments(r *check.Reporter) {
	done := map[*rediscmd.Command]bool{}
	check := func(c *rediscmd.Command, l *locks.Lock) {
		if done[c] || done[c.Root()] || r.Index.InTest(c.Pos()) {
			return
		}
		fault := c.Wrong
		if fault == "" {
			fault = timeFault(r.Index, c)
		}
		if fault == "" {
			return
		}
		done[c] = true
		pos, end := r.Span(c)
		r.ReportOnce(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s of this lock: %s", c.What(), fault),
			Related: related(c, l),
		})
	}
	for _, l := range r.Index.Renewals {
		check(l.Release, l)
	}
	for _, l := range r.Index.Locks {
		check(l.Acquire, l)
		for _, c := range prolonging(r.Index, l) {
			check(c, l)
		}
		for _, e := range r.Index.Commands[l.Acquire.Fn] {
			if e.Op == ops.Expire && e.Key.String() == l.Acquire.Key.String() {
				check(e, l)
			}
		}
	}
	for _, fn := range r.Index.Funcs {
		for _, c := range r.Index.Commands[fn] {
			if c.Op == ops.Acquire && c.Wrong != "" && c.Via == "" && locks.Speaks(c) {
				check(c, &locks.Lock{Acquire: c}) // it fails whatever releases it
			}
		}
	}
}

// related is the place that shows that a command belongs to a lock.
func related(c *rediscmd.Command, l *locks.Lock) []analysis.RelatedInformation {
	switch {
	case c != l.Acquire:
		return []analysis.RelatedInformation{{Pos: l.Acquire.Pos(), Message: "the lock is acquired here"}}
	case l.Release != nil:
		return []analysis.RelatedInformation{{Pos: l.Release.Pos(), Message: "it is a lock because it is released here"}}
	}
	return nil
}

// prolonging are the scripts that prolong a lock for its owner.
func prolonging(ix *index.Index, l *locks.Lock) []*rediscmd.Command {
	var list []*rediscmd.Command
	for _, fn := range ix.Funcs {
		for _, c := range ix.Commands[fn] {
			if c.Op == ops.CompareExpire && ix.Related(l.Acquire, c) {
				list = append(list, c)
			}
		}
	}
	return list
}

// The bounds of what can be meant: go-redis rounds everything below a millisecond, nobody locks for ten years.
const (
	shortestTTL = float64(time.Millisecond)
	longestTTL  = float64(10 * 365 * 24 * time.Hour)
)

// timeFault says what is wrong with the time of a command, "" if nothing certainly is.
func timeFault(ix *index.Index, c *rediscmd.Command) string {
	if ns, ok := c.Lasts(); ok {
		switch {
		case ns > 0 && ns < shortestTTL && math.Mod(ns, float64(time.Microsecond)) == 0:
			return fmt.Sprintf("it lasts %s, less than the millisecond that Redis counts in; a bare number counts nanoseconds",
				time.Duration(ns))
		case ns > 0 && ns < shortestTTL:
			return fmt.Sprintf("it lasts %g nanoseconds, because a bare number is no number of seconds; multiply by "+
				"time.Second", ns)
		case ns > longestTTL:
			return fmt.Sprintf("it lasts %.0f years, because the unit is applied twice or nanoseconds are taken for seconds",
				ns/longestTTL*10)
		}
		return ""
	}
	if c.TTLValue == nil {
		return ""
	}
	if c.Unit > 1 {
		return unitFault(ix, c)
	}
	if c.Unit == 1 {
		return durationFault(ix, c)
	}
	return ""
}

// unitFault looks at a number of seconds or milliseconds that is made from a Duration.
func unitFault(ix *index.Index, c *rediscmd.Command) string {
	unit := unitOf(c)
	k := c.TTL
	if k.Op != keyexpr.Call || len(k.Args) == 0 {
		return ""
	}
	switch k.Text {
	case keyexpr.Raw:
		if fault := quotientFault(c, k.Args[0]); fault != "" {
			return fault
		}
		if from := k.Args[0]; from.Op == keyexpr.Call && from.Text == keyexpr.Quo ||
			from.Op == keyexpr.Param && takesBareNumbers(ix, c.Fn, from) || from.Op == keyexpr.Field {
			return ""
		}
		return fmt.Sprintf("it takes a number of %s and is given a time.Duration, which is a number of nanoseconds", unit)
	case "(time.Duration).Milliseconds", "(time.Duration).Microseconds", "(time.Duration).Nanoseconds":
		if c.Unit == time.Second || k.Text != "(time.Duration).Milliseconds" {
			return tooLong(unit)
		}
	case "(time.Duration).Seconds":
		if c.Unit == time.Millisecond {
			return "it takes a number of milliseconds and is given seconds: the lock lasts a thousandth of its time"
		}
	}
	return ""
}

// unitOf is what the number of a command counts.
func unitOf(c *rediscmd.Command) string {
	if c.Unit == time.Millisecond {
		return "milliseconds"
	}
	return "seconds"
}

func tooLong(unit string) string {
	return fmt.Sprintf("it takes a number of %s and is given a smaller unit: the lock lasts a thousand times too long or more",
		unit)
}

// quotientFault looks at a Duration that is divided by a unit.
func quotientFault(c *rediscmd.Command, k keyexpr.Expr) string {
	if k.Op != keyexpr.Call || k.Text != keyexpr.Quo || len(k.Args) != 2 || k.Args[1].Op != keyexpr.Lit {
		return ""
	}
	switch k.Args[1].Text {
	case strconv.Itoa(int(time.Millisecond)), strconv.Itoa(int(time.Microsecond)):
		if c.Unit == time.Second || k.Args[1].Text != strconv.Itoa(int(time.Millisecond)) {
			return tooLong(unitOf(c))
		}
	case strconv.Itoa(int(time.Second)):
		if c.Unit == time.Millisecond {
			return "it takes a number of milliseconds and is given seconds: the lock lasts a thousandth of its time"
		}
	}
	return ""
}

// durationFault looks at a Duration that is computed.
func durationFault(ix *index.Index, c *rediscmd.Command) string {
	switch v := c.TTLValue.(type) {
	case *ssa.BinOp:
		if v.Op.String() == keyexpr.Mul && isTime(ix, v.X, c.Fn) && isTime(ix, v.Y, c.Fn) {
			return "a Duration is multiplied by a Duration, which is no time but overflows; use one of them"
		}
	case *ssa.Convert:
		return bareFault(v.X)
	case *ssa.ChangeType:
		return bareFault(v.X)
	}
	return ""
}

// bareFault looks at what is converted to a Duration.
func bareFault(v ssa.Value) string {
	name := nameOf(v)
	if !unitName.MatchString(name) || ssax.IsDuration(v.Type()) {
		return ""
	}
	return fmt.Sprintf("%s is taken for nanoseconds; multiply by its unit, as in time.Duration(%s) * time.Second", name,
		name)
}

// unitName marks variables that say that they count something else than nanoseconds.
var unitName = regexp.MustCompile(`(?i)(sec|secs|second|seconds|millis|milliseconds|minutes|hours)$`)

// nameOf is the name that the program gives to a value, "" if it has none.
func nameOf(v ssa.Value) string {
	switch v := v.(type) {
	case *ssa.Parameter:
		return v.Name()
	case *ssa.Convert:
		return nameOf(v.X)
	case *ssa.ChangeType:
		return nameOf(v.X)
	case *ssa.UnOp:
		switch addr := ssax.CellOf(v.X).(type) {
		case *ssa.Global:
			return addr.Name()
		case *ssa.Alloc:
			return addr.Comment
		case *ssa.FieldAddr:
			return ssax.FieldNameOnly(addr)
		}
	}
	return ""
}
