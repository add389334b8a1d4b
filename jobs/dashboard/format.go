package dashboard

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// moment is a time as pages show it. The zero moment is shown as a dash.
type moment struct {
	ISO   string // for machines
	Full  string // with zone, on pointing at it, and as the reader's clock has it
	Stamp string // as short as it is clear today
	Zone  string // of the stamp; empty for UTC
	Local string // the stamp in the reader's zone; empty if that is the same, or unknown
	Away  string // from now: "in 4 min", "12 s ago"
}

// moment shows a time in UTC.
func (q *request) moment(t time.Time) moment {
	m := q.momentIn(t, time.UTC)
	m.Local = ""
	return m
}

// momentIn shows a time in the zone of a job, and in the reader's.
func (q *request) momentIn(t time.Time, zone *time.Location) moment {
	if t.IsZero() {
		return moment{}
	}
	const full = "Mon 2 Jan 2006 15:04:05.000 MST"
	t = t.In(zone)
	m := moment{ISO: t.Format(time.RFC3339Nano), Full: t.Format(full), Stamp: q.stamp(t)}
	if zone != time.UTC {
		m.Zone = t.Format("MST")
	}
	if q.zone != nil {
		local := t.In(q.zone)
		if offsetOf(t) != offsetOf(local) {
			m.Local = q.stamp(local)
			m.Full += ", which is " + local.Format(full) + " where you are"
		}
	}
	switch d := t.Sub(q.now); {
	case d >= time.Second:
		m.Away = "in " + rough(d)
	case d > -time.Second:
		m.Away = "now"
	default:
		m.Away = rough(d.Abs()) + " ago"
	}
	return m
}

func offsetOf(t time.Time) int {
	_, offset := t.Zone()
	return offset
}

// stamp leaves out the date if it is today's where t is.
func (q *request) stamp(t time.Time) string {
	now, layout := q.now.In(t.Location()), "15:04:05"
	switch {
	case t.Year() != now.Year():
		layout = "2 Jan 2006 15:04:05"
	case t.YearDay() != now.YearDay():
		layout = "2 Jan 15:04:05"
	}
	return t.Format(layout)
}

// rough says a duration in its largest unit or two: how far away something is.
func rough(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 10*time.Minute:
		return two(d, time.Minute, "min", time.Second, "s")
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < day:
		return two(d, time.Hour, "h", time.Minute, "min")
	case d < 10*day:
		return two(d, day, "d", time.Hour, "h")
	default:
		return fmt.Sprintf("%d d", d/day)
	}
}

func two(d, large time.Duration, name string, small time.Duration, smallName string) string {
	text := fmt.Sprintf("%d %s", d/large, name)
	if rest := d % large / small; rest > 0 {
		text += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return text
}

// duration says how long something took, to three digits.
func duration(d time.Duration) string {
	switch {
	case d < 0:
		return "−" + duration(d.Abs())
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return trimZero(fmt.Sprintf("%.1f", float64(d)/float64(time.Second))) + " s"
	default:
		return rough(d)
	}
}

func trimZero(s string) string { return strings.TrimSuffix(s, ".0") }

// badge is a word with a colour. The word alone says it all.
type badge struct{ Kind, Text string }

// The kinds of badges, which are classes of the style sheet.
const (
	kindGood = "good"
	kindBad  = "bad"
	kindWarn = "warn"
	kindBusy = "busy"
	kindIdle = "idle"
)

func outcomeBadge(r jobs.Run) badge {
	switch {
	case r.Outcome == "" && r.Started.IsZero():
		return badge{kindBusy, "waiting"}
	case r.Outcome == "":
		return badge{kindBusy, "running"}
	case r.Outcome == jobs.OutcomeOK:
		return badge{kindGood, "ok"}
	case r.Failed():
		return badge{kindBad, string(r.Outcome)}
	case r.Outcome == jobs.OutcomeCancelled:
		return badge{kindWarn, "cancelled"}
	}
	return badge{kindIdle, string(r.Outcome)}
}

// firstLine cuts a text to what fits into a table.
func firstLine(s string) string {
	const most = 160
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	runes := []rune(strings.TrimSpace(line))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	if strings.TrimSpace(rest) != "" {
		return string(runes) + " …"
	}
	return string(runes)
}
