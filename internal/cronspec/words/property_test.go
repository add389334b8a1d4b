package words

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/lockgen/lockgen/internal/cronspec"
)

// TestOf_neverLies writes random specifications, lets the reader read the words, and asks it and the schedule about
// the same moments.
func TestOf_neverLies(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	specs := 0
	for range 10_000 {
		spec := randomSpec(rnd)
		schedule, err := cronspec.Parse(spec, "")
		if err != nil {
			continue
		}
		specs++
		if err := compare(rnd, spec, schedule); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if specs < 3_000 {
		t.Errorf("seed %d: only %d of the specifications were valid", seed, specs)
	}
}

func compare(rnd *rand.Rand, spec string, schedule cron.Schedule) error {
	text := Of(spec)
	r, err := read(text)
	if err != nil {
		return fmt.Errorf("%s: %w", spec, err)
	}
	for range 4 {
		start := time.Unix(rnd.Int64N(4e9), 0).UTC()
		next := schedule.Next(start)
		for _, at := range near(rnd, next) {
			if due := schedule.Next(at.Add(-time.Second)).Equal(at); due != r.fires(at) {
				return fmt.Errorf("%s: %q: at %s %s the schedule says %t", spec, text, at.Weekday(), at, due)
			}
		}
	}
	return nil
}

// near returns t and moments that differ from it in one unit.
func near(rnd *rand.Rand, t time.Time) []time.Time {
	return []time.Time{
		t, t.Add(time.Second), t.Add(time.Minute), t.Add(time.Hour), t.AddDate(0, 0, 1), t.AddDate(0, 1, 0),
		t.Add(time.Duration(rnd.IntN(60)) * time.Second), t.Add(time.Duration(rnd.IntN(60)) * time.Minute),
		t.Add(time.Duration(rnd.IntN(24)) * time.Hour), t.AddDate(0, 0, rnd.IntN(31)), t.AddDate(0, rnd.IntN(12), 0),
	}
}

func randomSpec(rnd *rand.Rand) string {
	if rnd.IntN(50) == 0 {
		return []string{"@yearly", "@monthly", "@weekly", "@daily", "@hourly"}[rnd.IntN(5)]
	}
	limits := [][2]int{{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}
	var fields []string
	for _, limit := range limits[rnd.IntN(2):] {
		elements := []string{randomElement(rnd, limit[0], limit[1])}
		for rnd.IntN(4) == 0 {
			elements = append(elements, randomElement(rnd, limit[0], limit[1]))
		}
		fields = append(fields, strings.Join(elements, ","))
	}
	return strings.Join(fields, " ")
}

func randomElement(rnd *rand.Rand, low, high int) string {
	value := func() int { return low + rnd.IntN(high-low+1) }
	a, b := value(), value()
	a, b = min(a, b), max(a, b)
	step := 1 + rnd.IntN(high-low)
	switch rnd.IntN(9) {
	case 0:
		return fmt.Sprintf("*/%d", step)
	case 1:
		return fmt.Sprintf("%d-%d", a, b)
	case 2:
		return fmt.Sprintf("%d-%d/%d", a, b, 1+step/4)
	case 3:
		return fmt.Sprintf("%d/%d", a, step)
	case 4, 5:
		return fmt.Sprint(a)
	case 6:
		return fmt.Sprintf("%d-%d", low, high)
	default:
		return "*"
	}
}
