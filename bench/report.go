package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// figure is one line of a table: what a contender reached over all rounds.
type figure struct {
	Scenario  string  `json:"scenario"`
	Contender string  `json:"contender"`
	Metric    string  `json:"metric"`
	Median    float64 `json:"median"`
	Min       float64 `json:"min"`
	Max       float64 `json:"max"`
}

// target is one line of the design's "To reach": the median of what was measured and whether that is enough.
type target struct {
	Scenario string  `json:"scenario"`
	Target   string  `json:"target"`
	Value    float64 `json:"value"`
	Reached  bool    `json:"reached"`
}

// report collects what the scenarios found, in order.
type report struct {
	figures []figure
	targets []target
}

func (r *report) add(scenario, contender, metric string, series []float64) {
	s := spreadOf(series)
	r.figures = append(r.figures, figure{scenario, contender, metric, s.median, s.min, s.max})
}

// atLeast and atMost judge the median of a series. A series without values reaches nothing.
func (r *report) atLeast(scenario, name string, series []float64, limit float64) {
	value := spreadOf(series).median
	r.targets = append(r.targets, target{scenario, name, value, len(series) > 0 && value >= limit})
}

func (r *report) atMost(scenario, name string, series []float64, limit float64) {
	value := spreadOf(series).median
	r.targets = append(r.targets, target{scenario, name, value, len(series) > 0 && value <= limit})
}

// writeJSON writes one array: the figures, then the targets.
func (r *report) writeJSON(w io.Writer) error {
	rows := make([]any, 0, len(r.figures)+len(r.targets))
	for _, f := range r.figures {
		rows = append(rows, f)
	}
	for _, t := range r.targets {
		rows = append(rows, t)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(rows)
}

// writeTable writes the same for people, one table per scenario.
func (r *report) writeTable(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, scenario := range r.scenarios() {
		fmt.Fprintf(tab, "%s\n%s\n", scenario, strings.Repeat("=", len(scenario)))
		fmt.Fprintln(tab, "contender\tmetric\tmedian\tmin\tmax")
		for _, f := range r.figures {
			if f.Scenario == scenario {
				fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\n", f.Contender, f.Metric, number(f.Median), number(f.Min), number(f.Max))
			}
		}
		for _, t := range r.targets {
			if t.Scenario == scenario {
				verdict := "REACHED"
				if !t.Reached {
					verdict = "missed"
				}
				fmt.Fprintf(tab, "to reach\t%s\t%s\t%s\t\n", t.Target, number(t.Value), verdict)
			}
		}
		fmt.Fprintln(tab)
	}
	return tab.Flush()
}

func (r *report) scenarios() []string {
	var names []string
	for _, f := range r.figures {
		if len(names) == 0 || names[len(names)-1] != f.Scenario {
			names = append(names, f.Scenario)
		}
	}
	return names
}

// number prints four significant digits, and large numbers in full.
func number(v float64) string {
	if v >= 1000 || v <= -1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
