package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	var values []time.Duration
	for i := range 100 {
		values = append(values, time.Duration(99-i))
	}
	for q, want := range map[float64]time.Duration{0: 0, 0.5: 50, 0.99: 99, 1: 99} {
		if got := quantile(values, q); got != want {
			t.Errorf("quantile %v = %d, want %d", q, got, want)
		}
	}
	if got := quantile(nil, 0.5); got != 0 {
		t.Errorf("of nothing: %d", got)
	}
}

func TestSpreadOf(t *testing.T) {
	for _, tt := range []struct {
		series []float64
		want   spread
	}{
		{nil, spread{}},
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{9, 1, 5}, spread{5, 1, 9}},
		{[]float64{4, 1, 2, 9}, spread{3, 1, 9}},
	} {
		if got := spreadOf(tt.series); got != tt.want {
			t.Errorf("spread of %v = %v, want %v", tt.series, got, tt.want)
		}
	}
}

// A round is compared with the same round, and the best peer is neither a floor nor ourselves.
func TestResults_againstBestPeer(t *testing.T) {
	r := &results{scenario: "s", order: contenders, series: make(map[[2]string][]float64)}
	for contender, series := range map[string][]float64{
		"raw": {1000, 1000, 1000}, "redsync": {1, 50, 2}, "redislock": {10, 10, 20}, "lockgen": {20, 40, 20},
	} {
		for _, v := range series {
			r.add(contender, []value{{"m", v}})
		}
	}
	b := new(bench)
	if got, want := r.againstBestPeer(b, "m"), []float64{2, 4, 1}; !slices.Equal(got, want) {
		t.Errorf("ratios %v, want %v: those to redislock", got, want)
	}
	if got := r.againstBestPeer(b, "nobody measured this"); got != nil {
		t.Errorf("ratios %v without a peer", got)
	}
}

func TestReport_judgesMedians(t *testing.T) {
	var r report
	r.add("s", "lockgen", "m", []float64{1, 2, 9})
	r.atLeast("s", "enough", []float64{1, 2, 9}, 2)
	r.atLeast("s", "too little", []float64{1, 2, 9}, 2.1)
	r.atMost("s", "little enough", []float64{1, 2, 9}, 2)
	r.atMost("s", "too much", []float64{1, 2, 9}, 1.9)
	r.atMost("s", "not measured", nil, 5)
	var got []bool
	for _, target := range r.targets {
		got = append(got, target.Reached)
	}
	if want := []bool{true, false, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("reached: %v, want %v", got, want)
	}
	var table bytes.Buffer
	if err := r.writeTable(&table); err != nil {
		t.Fatal(err)
	}
	if text := table.String(); strings.Count(text, "REACHED") != 2 || strings.Count(text, "missed") != 3 {
		t.Errorf("table:\n%s", text)
	}
}
