package main

import (
	"slices"
	"time"
)

// quantile returns the value below which the part q of the values lies. It sorts values.
func quantile(values []time.Duration, q float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(int(q*float64(len(values))), len(values)-1)]
}

// spread is what is reported of a series: one value per round.
type spread struct{ median, min, max float64 }

func spreadOf(series []float64) spread {
	if len(series) == 0 {
		return spread{}
	}
	s := slices.Sorted(slices.Values(series))
	mid := s[len(s)/2]
	if len(s)%2 == 0 {
		mid = (s[len(s)/2-1] + mid) / 2
	}
	return spread{median: mid, min: s[0], max: s[len(s)-1]}
}

// ratios divides round by round: what disturbed a round disturbed both.
func ratios(a, b []float64) []float64 {
	var out []float64
	for i := range min(len(a), len(b)) {
		if b[i] != 0 {
			out = append(out, a[i]/b[i])
		}
	}
	return out
}

func millisOf(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func perSecond(n int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}
