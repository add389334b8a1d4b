// Package words says a cron specification in English.
//
// The words are made from the sets of values that robfig's parser reads from the text, not from the text, so they
// describe what fires whatever way it was written. What cannot be read is given back as it is.
package words

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/lockgen/lockgen/internal/cronspec"
)

// parser reads what package cronspec has checked. It is the one that cronspec uses.
var parser = cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow |
	cron.Descriptor)

// mostTimes is how many times of day are listed one by one.
const mostTimes = 6

// Of returns the words for spec, without its zone: "Every 5 minutes from 09:00 to 17:59, Monday to Friday". A text
// that is no valid specification is returned unchanged.
func Of(spec string) string {
	if _, err := cronspec.Parse(spec, ""); err != nil {
		return spec
	}
	words := strings.Fields(spec)
	if strings.HasPrefix(words[0], "TZ=") || strings.HasPrefix(words[0], "CRON_TZ=") {
		words = words[1:]
	}
	if words[0] == "@every" {
		return every(strings.Join(words[1:], " "), spec)
	}
	parsed, err := parser.Parse(strings.Join(words, " "))
	if err != nil {
		return spec
	}
	fields, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return spec
	}
	return schedule{
		second: setOf(fields.Second, 0, 59), minute: setOf(fields.Minute, 0, 59), hour: setOf(fields.Hour, 0, 23),
		day: setOf(fields.Dom, 1, 31), month: setOf(fields.Month, 1, 12), weekday: setOf(fields.Dow, 0, 6),
	}.String()
}

func every(interval, spec string) string {
	d, err := time.ParseDuration(interval)
	if err != nil {
		return spec
	}
	var parts []string
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		n := int(d / unit.size)
		d -= time.Duration(n) * unit.size
		switch {
		case n == 1:
			parts = append(parts, "1 "+unit.name)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", n, unit.name))
		}
	}
	if len(parts) == 1 {
		parts[0] = strings.TrimPrefix(parts[0], "1 ")
	}
	return "Every " + and(parts)
}

// schedule is a specification in sets.
type schedule struct{ second, minute, hour, day, month, weekday set }

func (s schedule) String() string {
	text, exact := s.time()
	days, all := s.days()
	if exact && all {
		text = "Every day a" + text[1:]
	}
	text += days
	if !s.month.full() && !s.oneDate() {
		text += ", in " + s.month.names(months)
	}
	return text
}

// time says when in a day. It is exact if it lists times of day.
func (s schedule) time() (text string, exact bool) {
	if times := s.times(); times != nil {
		return "At " + and(times), true
	}
	lead := s.minutes()
	switch whole := s.second.only(0) && s.minute.evenly() > 0 || !s.second.only(0); {
	case s.hour.wildcard && lead == "At minute 0":
		return "Every hour", false
	case s.hour.wildcard && strings.HasPrefix(lead, "At minute"):
		return lead + " of every hour", false
	case s.hour.wildcard:
		return lead, false
	case whole && s.hour.contiguous():
		return fmt.Sprintf("%s from %02d:00 to %02d:59", lead, s.hour.first(), s.hour.last()), false
	default:
		return lead + ", " + s.hour.numbers("hour"), false
	}
}

// times lists the times of day if they are few.
func (s schedule) times() (times []string) {
	if s.second.size()*s.minute.size()*s.hour.size() > mostTimes {
		return nil
	}
	for _, h := range s.hour.values() {
		for _, m := range s.minute.values() {
			for _, sec := range s.second.values() {
				t := fmt.Sprintf("%02d:%02d", h, m)
				if !s.second.only(0) {
					t += fmt.Sprintf(":%02d", sec)
				}
				times = append(times, t)
			}
		}
	}
	return times
}

// minutes says which minutes and seconds of an hour.
func (s schedule) minutes() string {
	if s.second.only(0) {
		return s.minute.often("minute")
	}
	lead := s.second.often("second")
	switch {
	case !s.minute.full():
		lead += ", " + s.minute.numbers("minute")
	case s.second.evenly() == 0:
		lead += " of every minute"
	}
	return lead
}

// days says on which days, and whether on all.
func (s schedule) days() (text string, all bool) {
	day := " on " + s.day.numbers("day") + " of the month"
	either := !s.day.wildcard && !s.weekday.wildcard // cron runs on both kinds of days then
	switch {
	case s.day.full() && s.weekday.full(), either && (s.day.full() || s.weekday.full()):
		return "", true
	case either:
		return day + " or on " + s.weekday.weekdays(), false
	case s.oneDate():
		return fmt.Sprintf(" on %d %s", s.day.first(), months[s.month.first()]), false
	case s.weekday.full():
		return day, false
	default:
		return ", " + s.weekday.weekdays(), false
	}
}

// oneDate reports whether the days are one date of the year.
func (s schedule) oneDate() bool {
	return s.day.size() == 1 && s.month.size() == 1 && s.weekday.wildcard
}
