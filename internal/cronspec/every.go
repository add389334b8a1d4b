package cronspec

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// every fires at the multiples of its seconds since the Unix epoch. robfig's
// @every counts from whenever the process asked first, so that no two nodes
// would agree on a tick.
type every struct{ seconds int64 }

func (e every) Next(t time.Time) time.Time {
	n := t.Unix() // seconds rounded down, also before 1970
	past := n % e.seconds
	if past < 0 {
		past += e.seconds
	}
	return time.Unix(n-past+e.seconds, 0).In(t.Location())
}

// maxEvery is the longest interval that is of any use.
const maxEvery = 366 * 24 * time.Hour

func parseEvery(words []string, zone string) (cron.Schedule, error) {
	text := strings.Join(words, " ")
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("@every interval %q is not a duration, or longer than Go can count: write a Go duration such as @every 90s or @every 1h30m", text)
	case d < time.Second:
		return nil, fmt.Errorf("@every interval %q is shorter than a second: write a positive number of whole seconds, @every 1s at least", text)
	case d > maxEvery:
		return nil, fmt.Errorf("@every interval %q is longer than a year, its ticks are multiples since 1970: write fields such as %q for a "+
			"time of year", text, "0 3 1 1 *")
	case d%time.Second != 0:
		return nil, fmt.Errorf("@every interval %q is not a number of whole seconds: write @every %s or @every %s", text, d.Truncate(time.Second), d.Truncate(time.Second)+time.Second)
	case zone != "":
		return nil, fmt.Errorf("@every counts elapsed time and has no zone, found %q: delete the zone, or write fields such as %q for a time of day there", zone, "0 3 * * *")
	}
	return every{seconds: int64(d / time.Second)}, nil
}
