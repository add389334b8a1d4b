package lockcheck

import (
	"fmt"
	"regexp"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll2006 = newCheck("LL2006",
	"arity or unit: seconds as nanoseconds, Duration × Duration, SETNX with TTL arguments", Error, false, checkArguments)

// checkArguments reports acquires and expiries of locks that do not mean what they say: arguments that the server
// rejects, and times in the wrong unit.
func checkArguments(r *reporter) {
	done := map[*command]bool{}
	check := func(c *command, l *lock) {
		if done[c] || done[c.root()] || r.index.inTest(c.pos()) {
			return
		}
		fault := c.wrong
		if fault == "" {
			fault = r.index.timeFault(c)
		}
		if fault == "" {
			return
		}
		done[c] = true
		pos, end := r.span(c)
		r.report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s of this lock: %s", c.what(), fault),
			Related: []analysis.RelatedInformation{{Pos: l.release.pos(), Message: "it is a lock because it is released here"}},
		})
	}
	for _, l := range r.index.locks {
		check(l.acquire, l)
		for _, e := range r.index.commands[l.acquire.fn] {
			if e.op == opExpire && e.key.String() == l.acquire.key.String() {
				check(e, l)
			}
		}
	}
}

// The bounds of what can be meant: go-redis rounds everything below a millisecond, nobody locks for ten years.
const (
	shortestTTL = float64(time.Millisecond)
	longestTTL  = float64(10 * 365 * 24 * time.Hour)
)

// timeFault says what is wrong with the time of a command, "" if nothing certainly is.
func (ix *index) timeFault(c *command) string {
	if ns, ok := c.lasts(); ok {
		switch {
		case ns > 0 && ns < shortestTTL:
			return fmt.Sprintf("it lasts %g nanoseconds, because a bare number is no number of seconds; multiply by "+
				"time.Second", ns)
		case ns > longestTTL:
			return fmt.Sprintf("it lasts %.0f years, because the unit is applied twice or nanoseconds are taken for seconds",
				ns/longestTTL*10)
		}
		return ""
	}
	if c.ttlValue == nil {
		return ""
	}
	if c.unit > 1 {
		return ix.unitFault(c)
	}
	if c.unit == 1 {
		return ix.durationFault(c)
	}
	return ""
}

// unitFault looks at a number of seconds or milliseconds that is made from a Duration.
func (ix *index) unitFault(c *command) string {
	unit := "seconds"
	if c.unit == time.Millisecond {
		unit = "milliseconds"
	}
	k := c.ttl
	if k.Op != keyCall || len(k.Args) == 0 {
		return ""
	}
	switch k.Text {
	case opRaw:
		if from := k.Args[0]; from.Op == keyCall && from.Text == opQuo ||
			from.Op == keyParam && ix.takesBareNumbers(c.fn, from) || from.Op == keyField {
			return ""
		}
		return fmt.Sprintf("it takes a number of %s and is given a time.Duration, which is a number of nanoseconds", unit)
	case "(time.Duration).Milliseconds", "(time.Duration).Microseconds", "(time.Duration).Nanoseconds":
		if c.unit == time.Second {
			return "it takes a number of seconds and is given a smaller unit: the lock lasts a thousand times too long or more"
		}
	case "(time.Duration).Seconds":
		if c.unit == time.Millisecond {
			return "it takes a number of milliseconds and is given seconds: the lock lasts a thousandth of its time"
		}
	}
	return ""
}

// durationFault looks at a Duration that is computed.
func (ix *index) durationFault(c *command) string {
	switch v := c.ttlValue.(type) {
	case *ssa.BinOp:
		if v.Op.String() == opMul && ix.isTime(v.X, c.fn) && ix.isTime(v.Y, c.fn) {
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
	if !unitName.MatchString(name) || isDuration(v.Type()) {
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
		switch addr := cellOf(v.X).(type) {
		case *ssa.Global:
			return addr.Name()
		case *ssa.Alloc:
			return addr.Comment
		case *ssa.FieldAddr:
			return fieldNameOnly(addr)
		}
	}
	return ""
}
