package main

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/lockgen/lockgen/examples/internal/witness"
	"github.com/lockgen/lockgen/internal/timeline"
)

// timelineSpan is how much of the past the page draws.
const timelineSpan = time.Minute

// drawTimeline draws what the witness has seen: runs as bars in the lanes of their nodes, and the ticks that were due.
// A run whose node was killed breaks off, and a line leads to where its tick was begun again.
func drawTimeline(now time.Time, s snapshot, deaths witness.Deaths, events []witness.Event) template.HTML {
	c := timeline.Chart{From: now.Add(-timelineSpan), To: now,
		Label: "Runs of the last minute by node; the table below has them too"}
	if begin := beginOf(events).Add(-time.Second); begin.After(c.From) && begin.Before(now) {
		c.From = begin
	}
	for _, n := range s.Nodes {
		lane := timeline.Lane{Name: n.Name}
		if n.State != stateRunning {
			lane.Note = n.State
		}
		c.Lanes = append(c.Lanes, lane)
	}
	became := map[tick]string{}
	for _, b := range bars(now, c.From, deaths, events) {
		c.Bars = append(c.Bars, b.Bar)
		if before := became[b.of]; before != "good" {
			became[b.of] = b.Kind
		}
	}
	for _, job := range s.Jobs {
		due, err := job.Due(witness.Window{Open: c.From, Close: now})
		if err != nil {
			continue // the witness says so where it judges
		}
		for _, at := range due {
			kind, text := became[tick{job.Name, at.UnixNano()}], "due"
			if kind == "" {
				kind, text = "idle", "due, and not begun"
			}
			c.Ticks = append(c.Ticks, timeline.Tick{At: at, Kind: kind,
				Title: fmt.Sprintf("%s %s %s", lastPart(job.Name), at.UTC().Format(time.TimeOnly), text)})
		}
	}
	drawing, err := c.SVG()
	if err != nil {
		return ""
	}
	return drawing
}

// bar is one run, and the tick that it is of.
type bar struct {
	timeline.Bar
	of tick
}

// bars are the runs that went on after from.
func bars(now, from time.Time, deaths witness.Deaths, events []witness.Event) (all []bar) {
	ends := map[string]witness.Event{}
	for _, e := range events {
		if e.Kind == witness.End {
			ends[e.Run] = e
		}
	}
	for _, e := range events {
		if e.Kind != witness.Start {
			continue
		}
		b := bar{of: tick{e.Job, e.Tick.UnixNano()}}
		b.Bar = timeline.Bar{Lane: e.Node, Label: lastPart(e.Job), From: e.At, To: now, Kind: "busy", Open: true,
			Chain: fmt.Sprint(e.Job, " ", e.Tick.UnixNano())}
		end, ended := ends[e.Run]
		died, dead := deaths.Of(e)
		became := "runs"
		switch {
		case ended && end.Err != "":
			b.Kind, b.Open, b.To, became = "bad", false, end.At, "failed: "+end.Err
		case ended:
			b.Kind, b.Open, b.To, became = "good", false, end.At, "ran"
		case dead:
			b.Kind, b.Open, b.Broken, b.To, became = "bad", false, true, died, "died with its node"
		}
		if b.To.Before(from) {
			continue
		}
		b.Title = fmt.Sprintf("%s, tick %s, on %s: %s, %s", b.Label, e.Tick.UTC().Format(time.TimeOnly), e.Node, became,
			b.To.Sub(b.From).Round(time.Millisecond))
		all = append(all, b)
	}
	return all
}

// beginOf is when the first run began; zero if none has.
func beginOf(events []witness.Event) (begin time.Time) {
	for _, e := range events {
		if begin.IsZero() || e.At.Before(begin) {
			begin = e.At
		}
	}
	return begin
}

// lastPart is what fits into a bar of a job's name.
func lastPart(job string) string { return job[strings.LastIndexAny(job, "/.")+1:] }
