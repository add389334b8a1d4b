package dashboard

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 µs", 12345: "12 µs", 1500 * time.Microsecond: "1.5 ms", 840 * time.Millisecond: "840 ms",
		12340 * time.Millisecond: "12.3 s",
		4 * time.Second:          "4 s", 252 * time.Second: "4 min 12 s", 42 * time.Minute: "42 min", 3 * time.Hour: "3 h",
		185 * time.Minute: "3 h 5 min", 50 * time.Hour: "2 d 2 h", 500 * time.Hour: "20 d", -time.Second: "−1 s", math.MinInt64: "−106751 d",
	} {
		if got := duration(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestRequest_moment(t *testing.T) {
	q := &request{now: noon}
	vienna, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		t.Skip("no zone files: ", err)
	}
	for _, test := range []struct {
		at    time.Time
		zone  *time.Location
		stamp string
		away  string
	}{
		{noon, time.UTC, "12:00:00", "now"},
		{noon.Add(-90 * time.Second), time.UTC, "11:58:30", "1 min 30 s ago"},
		{noon.Add(13 * time.Hour), time.UTC, "29 Mar 01:00:00", "in 13 h"},
		{noon.Add(13 * time.Hour), vienna, "29 Mar 03:00:00", "in 13 h"},
		{noon.AddDate(1, 0, 0), time.UTC, "28 Mar 2027 12:00:00", "in 365 d"},
		{noon.AddDate(-3000, 0, 0), time.UTC, "28 Mar -0974 12:00:00", "106751 d ago"},
	} {
		if m := q.momentIn(test.at, test.zone); m.Stamp != test.stamp || m.Away != test.away {
			t.Errorf("%v: %+v, want %q, %q", test.at, m, test.stamp, test.away)
		}
	}
	if m := q.moment(time.Time{}); m != (moment{}) {
		t.Errorf("the zero time: %+v", m)
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1\u202f000", 1234567: "1\u202f234\u202f567"} {
		if got := number(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

func TestFirstLine(t *testing.T) {
	for in, want := range map[string]string{"": "", " a ": "a", "a\nb": "a …", "a\n\n": "a"} {
		if got := firstLine(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"": "“”", " a\n b ": "“a b”", strings.Repeat("ä", 121): "“" + strings.Repeat("ä", 120) + "…”",
	} {
		if got := quote(in); got != want {
			t.Errorf("%q: %s", in, got)
		}
	}
}
