package words

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reader understands the words as a person would, and knows nothing of how they were made.
type reader struct {
	times                []string // of day, as 15:04:05; nil if hour, minute and second say it
	hour, minute, second []int
	day, weekday, month  []int // nil: any
	either               bool  // day or weekday, not both
}

var (
	inMonths  = regexp.MustCompile(`^(.*), in ([A-Z].*)$`)
	onDate    = regexp.MustCompile(`^(.*) on (\d+) ([A-Z]\w+)$`)
	onDays    = regexp.MustCompile(`^(.*) on days? (.*) of the month(?: or on (.*))?$`)
	onWeekday = regexp.MustCompile(`^(.*?), ([A-Z]\w+day.*)$`)
	atTimes   = regexp.MustCompile(`^(?:Every day at|At) (\d\d:.*)$`)
	fromTo    = regexp.MustCompile(`^(.*) from (\d\d):00 to (\d\d):59$`)
	inHours   = regexp.MustCompile(`^(.*), hours? (.*)$`)
	inMinutes = regexp.MustCompile(`^(.*), minutes? (.*)$`)
	leadWords = regexp.MustCompile(`^(?:(Every) (\d+ )?|At )(hour|minute|second)s?(?: (.*))?$`)
	steps     = regexp.MustCompile(`^(\w+) to (\w+) in steps of (\d+)$`)
)

func read(text string) (r reader, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("not understood: %q: %v", text, p)
		}
	}()
	if m := inMonths.FindStringSubmatch(text); m != nil {
		text, r.month = m[1], items(m[2], months)
	}
	if m := onDate.FindStringSubmatch(text); m != nil {
		text, r.day, r.month = m[1], items(m[2], nil), items(m[3], months)
	} else if m := onDays.FindStringSubmatch(text); m != nil {
		text, r.day = m[1], items(m[2], nil)
		if m[3] != "" {
			r.weekday, r.either = items(m[3], weekdays), true
		}
	} else if m := onWeekday.FindStringSubmatch(text); m != nil {
		text, r.weekday = m[1], items(m[2], weekdays)
	}
	if m := atTimes.FindStringSubmatch(text); m != nil {
		for _, t := range strings.Split(strings.ReplaceAll(m[1], " and ", ", "), ", ") {
			r.times = append(r.times, (t + ":00")[:8])
		}
		return r, nil
	}
	r.clock(text)
	return r, nil
}

// clock reads what is left when days and months are off.
func (r *reader) clock(text string) {
	r.hour, r.minute, r.second = upTo(24, 1), upTo(60, 1), []int{0}
	if m := fromTo.FindStringSubmatch(text); m != nil {
		text, r.hour = m[1], items(strings.TrimPrefix(m[2], "0")+" to "+strings.TrimPrefix(m[3], "0"), nil)
	} else if m := inHours.FindStringSubmatch(text); m != nil {
		text, r.hour = m[1], items(m[2], nil)
	}
	text = strings.TrimSuffix(text, " of every hour")
	if m := inMinutes.FindStringSubmatch(text); m != nil {
		text, r.minute = m[1], items(m[2], nil)
	}
	text = strings.TrimSuffix(text, " of every minute")
	m := leadWords.FindStringSubmatch(text)
	var vs []int
	switch {
	case m[1] == "Every" && m[2] == "":
		vs = upTo(60, 1)
	case m[1] == "Every":
		vs = upTo(60, number(strings.TrimSpace(m[2])))
	default:
		vs = items(m[4], nil)
	}
	switch m[3] {
	case "hour":
		r.minute = []int{0}
	case "minute":
		r.minute = vs
	case "second":
		r.second = vs
	}
}

func upTo(n, step int) (vs []int) {
	for v := 0; v < n; v += step {
		vs = append(vs, v)
	}
	return vs
}

// items reads "1 to 5, 7 and 9", of numbers or names.
func items(text string, names []string) (vs []int) {
	value := func(s string) int {
		if names == nil {
			return number(s)
		}
		if i := slices.Index(names, s); i >= 0 {
			return i
		}
		panic(s)
	}
	if m := steps.FindStringSubmatch(text); m != nil {
		for v := value(m[1]); v <= value(m[2]); v += number(m[3]) {
			vs = append(vs, v)
		}
		return vs
	}
	for _, item := range strings.Split(strings.ReplaceAll(text, " and ", ", "), ", ") {
		from, to, isRange := strings.Cut(item, " to ")
		vs = append(vs, value(from))
		for isRange && vs[len(vs)-1] != value(to) {
			next := vs[len(vs)-1] + 1
			if len(names) == 7 {
				next %= 7
			}
			if next > 60 {
				panic(item)
			}
			vs = append(vs, next)
		}
	}
	return vs
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// fires reports whether t is a time that the words name.
func (r reader) fires(t time.Time) bool {
	in := func(vs []int, v int) bool { return vs == nil || slices.Contains(vs, v) }
	days := in(r.day, t.Day()) && in(r.weekday, int(t.Weekday()))
	if r.either {
		days = in(r.day, t.Day()) || in(r.weekday, int(t.Weekday()))
	}
	if !days || !in(r.month, int(t.Month())) {
		return false
	}
	if r.times != nil {
		return slices.Contains(r.times, t.Format(time.TimeOnly))
	}
	return in(r.hour, t.Hour()) && in(r.minute, t.Minute()) && in(r.second, t.Second())
}
