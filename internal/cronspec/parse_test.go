package cronspec_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/cronspec"
)

func TestParse_refuses(t *testing.T) {
	for _, c := range []struct{ spec, tz, want string }{
		{"", "", "it is empty"},
		{" \t ", "", "it is empty"},
		{"TZ=UTC", "", `nothing follows the zone "TZ=UTC"`},
		{"CRON_TZ=", "", "names no zone"},
		{"TZ= 0 3 * * *", "", "names no zone"},
		{"CRON_TZ=Mars/Base 0 3 * * *", "", `zone "Mars/Base"`},
		{"0 3 * * *", "Mars/Base", `zone "Mars/Base"`},
		{"0 3 * * *", "Local", "another one on each machine"},
		{"0 3 * * *", "localtime", "another one on each machine"},
		{"CRON_TZ=./localtime 0 3 * * *", "", "another one on each machine"},
		{"0 3 * * *", "posixrules", "another one on each machine"},
		{"0 3 * * *", ".", "write an IANA name"},
		{"0 3 * * *", "Europe/Vienna/.", "write an IANA name"},
		{"0 3 * * *", "nonsense/./", "write an IANA name"},
		{"CRON_TZ=./Europe/Vienna 0 3 * * *", "", "write an IANA name"},
		{"CRON_TZ=UTC 0 3 * * *", "UTC", "the zone is given twice"},
		{"CRON_TZ=Asia/Tokyo @every 1h", "", `@every counts elapsed time and has no zone, found "Asia/Tokyo"`},
		{"@every 1h", "Asia/Tokyo", "has no zone"},
		{"@every", "", "not a duration"},
		{"@every 5", "", "not a duration"},
		{"@every 1h 5m", "", "not a duration"},
		{"@every -5m", "", "shorter than a second"},
		{"@every 0s", "", "shorter than a second"},
		{"@every 500ms", "", "shorter than a second"},
		{"@every 1500ms", "", "write @every 1s or @every 2s"},
		{"@reboot", "", "no time of the clock"},
		{"@Daily", "", `unknown descriptor "@Daily"`},
		{"@daily 5", "", "takes nothing after it"},
		{"* * * *", "", "it has 4 fields"},
		{"0 0 0 1 1 * 2030", "", "it has 7 fields"},
		{", * * * *", "", `minute field ",": it has an empty list element`},
		{"5, * * * *", "", "empty list element"},
		{"* ,5 * * *", "", `hour field ",5"`},
		{"0 1,,2 * * *", "", "empty list element"},
		{"*/100 * * * *", "", "step 100 is wider than the field (0-59)"},
		{"*/60 * * * *", "", "step 60 is wider"},
		{"* */24 * * *", "", "step 24 is wider than the field (0-23)"},
		{"*/0 * * * *", "", "step 0"},
		{"*/ * * * *", "", `step "" is not a number`},
		{"*/1/2 * * * *", "", `step "1/2" is not a number`},
		{"*-5 * * * *", "", `"*" is not a number`},
		{"60 * * * *", "", `minute field "60": 60 is above 59: write 0-59`},
		{"-5 * * * *", "", `"" is not a number`},
		{"+5 * * * *", "", `"+5" is not a number`},
		{"0 0 0 * *", "", "0 is below 1"},
		{"0 0 L * *", "", "L, W, # and H are not supported"},
		{"0 0 * * 7", "", "7 is not a day: write 0 or sun"},
		{"0 0 * * 5#2", "", `"5#2" is neither`},
		{"0 0 * sunday *", "", `"sunday" is neither a number nor one of jan`},
		{"0 22-2 * * *", "", "write it in two parts, 22-23,0-2"},
		{"0 23-0 * * *", "", "write it in two parts, 23,0"},
		{"0 0 * * sat-mon", "", "write it in two parts, sat,0-mon"},
		{"0 1-2-3 * * *", "", `"2-3" is not a number`},
		{"99999999999999999999 * * * *", "", "is not a number"},
		{"0 0 31 2 *", "", "it never fires"},
		{"0 0 30-31 2 ?", "", "it never fires"},
		{"0 0 31 4,6,9,11 *", "", "it never fires"},
		{"0 0 31 2 *", "Europe/Berlin", "it never fires"},
	} {
		sched, err := cronspec.Parse(c.spec, c.tz)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%q, %q) = %v, %v; want an error with %q", c.spec, c.tz, sched, err, c.want)
		}
	}
}

func TestParse_next(t *testing.T) {
	for _, c := range []struct{ spec, tz, from, want string }{
		{"0 3 * * *", "", "2026-01-01T00:00:00Z", "2026-01-01T03:00:00Z"},
		{"0 3 * * *", "Asia/Tokyo", "2026-01-01T00:00:00Z", "2026-01-01T18:00:00Z"},
		{"CRON_TZ=Asia/Tokyo 0 3 * * *", "", "2026-01-01T00:00:00Z", "2026-01-01T18:00:00Z"},
		{"  TZ=Asia/Tokyo\t0\t3 * * *  ", "", "2026-01-01T00:00:00Z", "2026-01-01T18:00:00Z"},
		{"TZ=Asia/Tokyo @daily", "", "2026-01-01T00:00:00Z", "2026-01-01T15:00:00Z"},
		{"30 0 3 * * *", "", "2026-01-01T03:00:00Z", "2026-01-01T03:00:30Z"},
		{"0 3 * * *", "", "2026-01-01T03:00:00Z", "2026-01-02T03:00:00Z"},
		{"0 3 * * *", "", "2026-01-01T02:59:59.999Z", "2026-01-01T03:00:00Z"},
		{"0 0 * JAN Mon-fri", "", "2026-01-02T00:00:00Z", "2026-01-05T00:00:00Z"},
		{"0 0 1 * mon", "", "2026-01-26T00:00:00Z", "2026-02-01T00:00:00Z"}, // either day field
		{"0 0 31 2 1", "", "2026-01-26T00:00:00Z", "2026-02-02T00:00:00Z"},
		{"0 0 ? 1 *", "", "2026-02-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"45/5 * * * *", "", "2026-01-01T00:50:00Z", "2026-01-01T00:55:00Z"},
		{"0 0 29 2 *", "", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"}, // beyond robfig's five years
		{"0 0 29 2 *", "America/New_York", "2096-03-01T00:00:00Z", "2104-02-29T05:00:00Z"},
		{"0 * 29 2 *", "America/New_York", "2096-03-01T12:00:00Z", "2104-02-29T05:00:00Z"},
		{"0 * 31 12 *", "America/New_York", "2096-12-30T00:00:00Z", "2096-12-31T05:00:00Z"}, // a leap year beyond the zone table
		{"0 20 31 12 *", "America/Havana", "2028-12-30T00:00:00Z", "2029-01-01T01:00:00Z"},
		{"@yearly", "", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"@annually", "", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"@monthly", "", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"},
		{"@weekly", "", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"},
		{"@midnight", "", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},
		{"@hourly", "", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"},
		{"@every 90s", "", "1970-01-01T00:00:00Z", "1970-01-01T00:01:30Z"},
		{"@every  90s", "", "1970-01-01T00:01:29.5Z", "1970-01-01T00:01:30Z"},
		{"@every 11s", "", "2026-01-01T00:00:00Z", "2026-01-01T00:00:03Z"}, // 1767225603 is a multiple of 11
		{"@every 1m", "", "1969-12-31T23:58:30Z", "1969-12-31T23:59:00Z"},
	} {
		sched, err := cronspec.Parse(c.spec, c.tz)
		if err != nil {
			t.Errorf("Parse(%q, %q): %v", c.spec, c.tz, err)
			continue
		}
		if got := sched.Next(at(t, c.from)); !got.Equal(at(t, c.want)) {
			t.Errorf("Parse(%q, %q).Next(%s) = %s, want %s", c.spec, c.tz, c.from, got.UTC().Format(time.RFC3339), c.want)
		}
	}
}

// TestParse_zoneOfNext checks that a spec without a zone follows the location
// of the time it is asked about, and that every result keeps that location.
func TestParse_zoneOfNext(t *testing.T) {
	tokyo := zone(t, "Asia/Tokyo")
	sched, err := cronspec.Parse("0 3 * * *", "")
	if err != nil {
		t.Fatal(err)
	}
	got := sched.Next(at(t, "2026-01-01T00:00:00Z").In(tokyo))
	if want := at(t, "2026-01-01T18:00:00Z"); !got.Equal(want) || got.Location() != tokyo {
		t.Errorf("Next in Tokyo = %s, want %s in Asia/Tokyo", got, want.In(tokyo))
	}
}

func FuzzParse(f *testing.F) {
	f.Add("TZ=UTC", "")
	f.Add("CRON_TZ=\t0 3 * * *", "UTC")
	f.Add("@every 1s", "")
	f.Add("0-59/7,*/3 0 29 feb *", "Africa/Cairo")
	f.Fuzz(func(t *testing.T, spec, tz string) {
		sched, err := cronspec.Parse(spec, tz)
		if err != nil {
			return
		}
		for now, i := at(t, "2026-03-01T00:00:00Z"), 0; i < 3; i++ {
			next := sched.Next(now)
			if !next.After(now) {
				t.Fatalf("Parse(%q, %q).Next(%s) = %s, want a later time", spec, tz, now, next)
			}
			now = next
		}
	})
}

func at(t *testing.T, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}
