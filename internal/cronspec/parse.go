package cronspec

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

var parser = cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Parse reads a cron specification. The zone is tz, an IANA name, or a
// "CRON_TZ=Zone " (or "TZ=Zone ") in front of the spec, not both; with neither
// the schedule follows the location of the time given to Next.
//
// Next of the schedule returned never returns the zero time: a spec that can
// never fire is an error here.
func Parse(spec, tz string) (cron.Schedule, error) {
	sched, err := parse(spec, tz)
	if err != nil {
		return nil, fmt.Errorf("cron spec %q: %w", spec, err)
	}
	return sched, nil
}

func parse(spec, tz string) (cron.Schedule, error) {
	rest, inline, err := cutZone(strings.TrimSpace(spec))
	if err != nil {
		return nil, err
	}
	if inline != "" && tz != "" {
		return nil, fmt.Errorf("the zone is given twice, as tz %q and as %q inside the spec: keep tz and delete the prefix", tz, inline)
	}
	loc, err := loadZone(inline + tz)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(rest)
	if len(words) == 0 {
		return nil, fmt.Errorf("it is empty: write five fields (minute hour day-of-month month day-of-week) such as %q", "0 3 * * *")
	}
	if words[0] == "@every" {
		return parseEvery(words[1:], inline+tz)
	}
	if strings.HasPrefix(words[0], "@") {
		err = checkDescriptor(words)
	} else {
		err = checkFields(words)
	}
	if err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(strings.Join(words, " "))
	if err != nil {
		return nil, err
	}
	fields, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("robfig/cron returned a %T for it, expected fields: write the spec as five fields", parsed)
	}
	s := &schedule{fields: *fields, loc: loc}
	if _, ok := s.nextReading(neverProbe); !ok {
		return nil, fmt.Errorf("it never fires: none of the months chosen has such a day of month; choose a day that exists, for the last day of a month run daily and check in the job")
	}
	return s, nil
}

// neverProbe is a start from which every spec that fires at all does so within
// the search limit of nextReading.
var neverProbe = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// cutZone splits a leading TZ=Zone or CRON_TZ=Zone off. robfig looks for a
// blank after it and panics when there is none.
func cutZone(spec string) (rest, zone string, err error) {
	var prefix string
	switch {
	case strings.HasPrefix(spec, "TZ="):
		prefix = "TZ="
	case strings.HasPrefix(spec, "CRON_TZ="):
		prefix = "CRON_TZ="
	default:
		return spec, "", nil
	}
	words := strings.Fields(spec)
	zone = strings.TrimPrefix(words[0], prefix)
	if zone == "" {
		return "", "", fmt.Errorf("%s names no zone: write an IANA name such as %sEurope/Berlin, or delete it", prefix, prefix)
	}
	if len(words) == 1 {
		return "", "", fmt.Errorf("nothing follows the zone %q: write %q", words[0], words[0]+" 0 3 * * *")
	}
	return strings.TrimPrefix(spec, words[0]), zone, nil
}

// Zone returns the zone that a specification names in front of its fields, "" if it names none.
func Zone(spec string) string {
	_, zone, _ := cutZone(strings.TrimSpace(spec))
	return zone
}

func loadZone(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil
	}
	switch path.Base(name) {
	case "Local", "localtime", "posixrules":
		return nil, fmt.Errorf("zone %q is another one on each machine: write an IANA name such as Europe/Berlin, or UTC", name)
	}
	if name == "." || path.Clean(name) != name { // found where zones are files, and only there
		return nil, fmt.Errorf("zone %q: write an IANA name such as Europe/Berlin, or UTC", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("zone %q: %w; write an IANA name such as Europe/Berlin (on a machine without zone files, import time/tzdata)", name, err)
	}
	return loc, nil
}

func checkDescriptor(words []string) error {
	descriptors := []string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
	known := strings.Join(descriptors, ", ") + " or @every 90s"
	lower := strings.ToLower(words[0])
	if lower != words[0] && (lower == "@every" || slices.Contains(descriptors, lower)) {
		return fmt.Errorf("unknown descriptor %q: write it in lower case: %q", words[0], strings.Join(append([]string{lower}, words[1:]...), " "))
	}
	if len(words) > 1 {
		return fmt.Errorf("descriptor %q takes nothing after it, found %q: write %q alone", words[0], strings.Join(words[1:], " "), words[0])
	}
	switch d := words[0]; {
	case slices.Contains(descriptors, d):
		return nil
	case d == "@reboot":
		return fmt.Errorf("descriptor %q is no time of the clock that a cluster could agree on: do it when the program starts, or write one of %s", d, known)
	default:
		return fmt.Errorf("unknown descriptor %q: write one of %s", d, known)
	}
}
