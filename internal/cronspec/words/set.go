package words

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// wildcard is the bit that robfig sets in a field that holds * or ?.
const wildcard = 1 << 63

var (
	months   = strings.Fields("- January February March April May June July August September October November December")
	weekdays = strings.Fields("Sunday Monday Tuesday Wednesday Thursday Friday Saturday")
)

// set is the values of one field.
type set struct {
	bits     uint64
	min, max int
	wildcard bool
}

func setOf(field uint64, low, high int) set {
	return set{bits: field &^ wildcard, min: low, max: high, wildcard: field&wildcard != 0}
}

func (s set) size() int        { return bits.OnesCount64(s.bits) }
func (s set) full() bool       { return s.size() == s.max-s.min+1 }
func (s set) first() int       { return bits.TrailingZeros64(s.bits) }
func (s set) last() int        { return 63 - bits.LeadingZeros64(s.bits) }
func (s set) only(v int) bool  { return s.bits == 1<<v }
func (s set) contiguous() bool { return s.size() == s.last()-s.first()+1 }

func (s set) values() []int {
	var vs []int
	for v := s.min; v <= s.max; v++ {
		if s.bits&(1<<v) != 0 {
			vs = append(vs, v)
		}
	}
	return vs
}

// step returns the distance between neighbours if it is always the same, else 0.
func (s set) step() int {
	vs := s.values()
	if len(vs) < 2 {
		return 0
	}
	for i := 1; i < len(vs); i++ {
		if vs[i]-vs[i-1] != vs[1]-vs[0] {
			return 0
		}
	}
	return vs[1] - vs[0]
}

// evenly returns the step of values that go on in equal steps from the last one to the first of the next round, such
// as 0, 5 … 55; 0 for others.
func (s set) evenly() int {
	step := s.step()
	if step == 0 || s.first() != s.min || s.last()+step != s.max+1 {
		return 0
	}
	return step
}

// often says how often a field with these values comes round: "Every 5 minutes", "At minutes 3 and 17".
func (s set) often(unit string) string {
	switch step := s.evenly(); step {
	case 0:
		return "At " + s.numbers(unit)
	case 1:
		return "Every " + unit
	default:
		return fmt.Sprintf("Every %d %ss", step, unit)
	}
}

// numbers lists the values: "minute 3", "hours 9 to 17 and 20", "minutes 0 to 56 in steps of 7".
func (s set) numbers(unit string) string {
	if s.size() > 1 {
		unit += "s"
	}
	if step := s.step(); step > 1 && s.size() > 3 {
		return fmt.Sprintf("%s %d to %d in steps of %d", unit, s.first(), s.last(), step)
	}
	return unit + " " + list(s.values(), strconv.Itoa)
}

func (s set) names(of []string) string {
	return list(s.values(), func(v int) string { return of[v] })
}

// weekdays lists the days of the week from Monday on, so that a weekend is in one piece.
func (s set) weekdays() string {
	vs := s.values()
	if vs[0] == 0 {
		vs = append(vs[1:], 7)
	}
	return list(vs, func(v int) string { return weekdays[v%7] })
}

// list joins values, three or more in a row as "a to c".
func list(vs []int, name func(int) string) string {
	var parts []string
	for i := 0; i < len(vs); {
		end := i
		for end+1 < len(vs) && vs[end+1] == vs[end]+1 {
			end++
		}
		if end-i < 2 {
			end = i
			parts = append(parts, name(vs[i]))
		} else {
			parts = append(parts, name(vs[i])+" to "+name(vs[end]))
		}
		i = end + 1
	}
	return and(parts)
}

func and(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
