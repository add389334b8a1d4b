package directive

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The runtime refuses other lease lengths when the lock is taken, which would be too late to hear of it.
const (
	minTTL = 10 * time.Millisecond
	maxTTL = 30 * 24 * time.Hour
)

// duration reads the value of a duration option.
func (p *reader) duration(o *option, a Arg, text string) (*Duration, bool) {
	d := &Duration{Arg: a}
	if o.kind == kindWait {
		switch text {
		case "0":
			return d, true
		case "forever":
			d.Forever = true
			return d, true
		}
	}
	v, err := time.ParseDuration(text)
	switch {
	case err != nil:
		p.badDuration(o, a, text)
		return nil, false
	case o.kind == kindWait && v == 0:
		return d, true
	case isNumber(text):
		p.badDuration(o, a, text) // "0", the only number that ParseDuration takes
		return nil, false
	}
	d.Value = v
	return d, p.durationRange(o, d)
}

// durationRange reports a duration that is well written and makes no sense.
func (ps *problems) durationRange(o *option, d *Duration) bool {
	written := o.name + "=" + FormatDuration(d.Value)
	if d.Const != nil {
		written = fmt.Sprintf("%s=%s, which is %s,", o.name, d.Const, d.Value)
	}
	switch {
	case o.kind == kindWait && d.Value < 0:
		ps.add(d.ValuePos, d.ValueEnd, "duration",
			"%s is negative: write wait=0 to try once, wait=forever, or a positive duration", written)
	case o.kind != kindWait && d.Value <= 0:
		ps.add(d.ValuePos, d.ValueEnd, "duration", "%s is not positive: write a duration such as %s=%s, or delete the option",
			written, o.name, o.ask)
	case o.name == "ttl" && (d.Value < minTTL || d.Value > maxTTL):
		ps.add(d.ValuePos, d.ValueEnd, "ttl-range", "%s is out of range: a lease lasts from %s to %s", written,
			FormatDuration(minTTL), FormatDuration(maxTTL))
	default:
		return true
	}
	return false
}

// unitWords are units that people write and time.ParseDuration does not know, with what to multiply the number by.
var unitWords = map[string]struct {
	times int64
	unit  string
}{
	"sec": {1, "s"}, "secs": {1, "s"}, "second": {1, "s"}, "seconds": {1, "s"}, "S": {1, "s"},
	"min": {1, "m"}, "mins": {1, "m"}, "minute": {1, "m"}, "minutes": {1, "m"}, "M": {1, "m"},
	"hr": {1, "h"}, "hrs": {1, "h"}, "hour": {1, "h"}, "hours": {1, "h"}, "H": {1, "h"},
	"msec": {1, "ms"}, "millis": {1, "ms"},
	"d": {24, "h"}, "day": {24, "h"}, "days": {24, "h"}, "w": {168, "h"},
}

// badDuration reports text that is no duration and, where it can tell, says what was meant.
func (p *reader) badDuration(o *option, a Arg, text string) {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit, known := unitWords[text[len(number):]]
	n, err := strconv.ParseInt(number, 10, 64)
	switch {
	case isNumber(text) && (err != nil || n <= 0):
		p.add(a.ValuePos, a.ValueEnd, "duration", "%s=%s is not positive: write a duration such as %s=%s%s", o.name, text,
			o.name, o.ask, orWait(o))
	case isNumber(text):
		p.add(a.ValuePos, a.ValueEnd, "duration", "%s means nothing: write %s=%ss", text, o.name, text).write(text + "s")
	case known && err == nil && n > 0 && n < 1e6:
		meant := strconv.FormatInt(n*unit.times, 10) + unit.unit
		p.add(a.ValuePos, a.ValueEnd, "duration", "%s=%s is no duration, there is no unit %q: write %s=%s", o.name, text,
			text[len(number):], o.name, meant).write(meant)
	default:
		p.add(a.ValuePos, a.ValueEnd, "duration",
			"%s is no duration: write a number with a unit (ms, s, m, h) such as %s=%s%s", shown(text), o.name, o.ask, orWait(o))
	}
}

func orWait(o *option) string {
	if o.kind == kindWait {
		return ", or 0 to try once, or forever"
	}
	return ""
}

// isNumber reports whether text is a number without a unit.
func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && strings.Trim(text, "+-.0123456789") == ""
}

// FormatDuration is the shortest usual way to write d: 1h30m, not 1h30m0s.
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}
