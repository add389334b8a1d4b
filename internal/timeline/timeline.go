// Package timeline draws what ran where and when: one lane a node, runs as bars in the colour of their outcome, due
// ticks below. The drawing is SVG that stretches to the width of the page, without scripts and inline styles, so that
// it holds under a strict content security policy. [Styles] are its colours.
package timeline

import (
	"bytes"
	_ "embed"
	"html/template"
	"slices"
	"time"
)

// Chart is what to draw.
type Chart struct {
	From, To time.Time
	Lanes    []Lane // from the top; a bar of a lane that is not here gets one
	Bars     []Bar
	Ticks    []Tick
	Label    string         // says the same in words, for those who do not see it
	Zone     *time.Location // of the times below; nil: UTC
}

// Lane is one node.
type Lane struct {
	Name string
	Note string // such as "killed"
	Kind string // a class of Styles for the note
}

// Bar is one run.
type Bar struct {
	Lane        string
	Label       string // stands in the bar as far as it fits
	Title, Link string // on pointing at it, and where it leads; may be empty
	Kind        string // a class of Styles: good, bad, warn, busy or idle
	From, To    time.Time
	Open        bool   // it goes on after To
	Broken      bool   // its node died
	Chain       string // bars of one chain are attempts at the same work: the next one goes on where a broken one ended
}

// Tick is a moment at which something was due.
type Tick struct {
	At          time.Time
	Kind, Title string
}

// Styles is the style sheet. It takes its colours from the properties --good, --bad, --warn, --busy, --idle, --text,
// --soft, --line and --card.
//
//go:embed timeline.css
var Styles string

//go:embed timeline.svg
var source string

var drawing = template.Must(template.New("timeline").Parse(source))

// In pixels.
const (
	labelHeight = 17
	rowHeight   = 18
	barHeight   = 15
	laneGap     = 9
	tickHeight  = 20
	axisHeight  = 18
	// mostRows is how many runs of a lane are drawn one below the other.
	mostRows = 8
	// leastWidth is the width of the shortest bar, in percent.
	leastWidth = 0.5
	// leastLabel is the width of the shortest bar with a label in it, in percent.
	leastLabel = 3.5
)

type drawn struct {
	Height, AxisY, AxisTextY, TickY, TickEnd int
	Label                                    string
	Lanes                                    []drawnLane
	Bars                                     []drawnBar
	Joins                                    []join
	Ticks                                    []drawnTick
	Marks                                    []mark
}

type drawnLane struct {
	Lane
	Y, TextY, LineY int
}

type drawnBar struct {
	Bar
	X, Width, End float64
	Y, Height     int
	row           int
}

// join leads from where a run broke off to where it began again.
type join struct {
	X1, X2 float64
	Y1, Y2 int
}

type drawnTick struct {
	Tick
	X float64
}

type mark struct {
	X    float64
	Text string // empty where there is no room for it
}

// SVG returns the drawing as markup.
func (c Chart) SVG() (template.HTML, error) {
	var out bytes.Buffer
	err := drawing.Execute(&out, c.draw())
	return template.HTML(out.String()), err
}

func (c Chart) draw() drawn {
	d := drawn{Label: c.Label}
	bars := c.drawBars()
	y := 0
	for _, lane := range c.lanes() {
		l := drawnLane{Lane: lane, Y: y, TextY: y + labelHeight - 5}
		rows := 1
		for i := range bars {
			if b := &bars[i]; b.Lane == lane.Name {
				b.Y, b.Height = y+labelHeight+b.row*rowHeight, barHeight
				rows = max(rows, b.row+1)
			}
		}
		y += labelHeight + rows*rowHeight + laneGap
		l.LineY = y - laneGap/2
		d.Lanes = append(d.Lanes, l)
	}
	d.Bars, d.Joins = bars, joins(bars)
	d.TickY, d.TickEnd = y+3, y+tickHeight-5
	for _, t := range c.Ticks {
		if !t.At.Before(c.From) && !t.At.After(c.To) {
			d.Ticks = append(d.Ticks, drawnTick{t, c.x(t.At)})
		}
	}
	d.AxisY, d.AxisTextY = y+tickHeight-3, y+tickHeight+axisHeight-6
	d.Height = y + tickHeight + axisHeight
	d.Marks = c.marks()
	return d
}

// lanes are those that were asked for, and then those of other bars.
func (c Chart) lanes() []Lane {
	lanes := slices.Clone(c.Lanes)
	for _, b := range c.Bars {
		if !slices.ContainsFunc(lanes, func(l Lane) bool { return l.Name == b.Lane }) {
			lanes = append(lanes, Lane{Name: b.Lane})
		}
	}
	return lanes
}

// drawBars places the bars that are to be seen, by their beginning, each in the first row of its lane that is free.
func (c Chart) drawBars() []drawnBar {
	var bars []drawnBar
	for _, b := range c.Bars {
		if b.To.Before(c.From) || b.From.After(c.To) {
			continue
		}
		d := drawnBar{Bar: b, X: c.x(b.From)}
		d.End = max(c.x(b.To), d.X+leastWidth)
		if d.Width = round(d.End - d.X); d.Width < leastLabel {
			d.Label = ""
		}
		bars = append(bars, d)
	}
	slices.SortStableFunc(bars, func(a, b drawnBar) int { return a.From.Compare(b.From) })
	free := map[string][]float64{} // of each lane, where its rows are free again
	for i := range bars {
		b := &bars[i]
		rows := free[b.Lane]
		b.row = slices.IndexFunc(rows, func(end float64) bool { return end <= b.X })
		switch {
		case b.row >= 0:
			rows[b.row] = b.End
		case len(rows) < mostRows:
			b.row = len(rows)
			free[b.Lane] = append(rows, b.End)
		default:
			b.row = mostRows - 1
		}
	}
	return bars
}

// joins lead from each broken bar to the next of its chain. The bars are sorted by their beginning.
func joins(bars []drawnBar) (all []join) {
	last := map[string]*drawnBar{}
	for i := range bars {
		b := &bars[i]
		if b.Chain == "" {
			continue
		}
		if from := last[b.Chain]; from != nil && from.Broken {
			all = append(all, join{X1: from.End, Y1: from.Y + barHeight/2, X2: b.X, Y2: b.Y + barHeight/2})
		}
		last[b.Chain] = b
	}
	return all
}

// x is where a moment is, in percent of the width.
func (c Chart) x(t time.Time) float64 {
	span := c.To.Sub(c.From)
	if span <= 0 {
		return 0
	}
	return round(min(max(100*float64(t.Sub(c.From))/float64(span), 0), 100))
}

func round(x float64) float64 { return float64(int(x*100+0.5)) / 100 }

// steps are the distances between the times on the axis.
var steps = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second,
	30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
	48 * time.Hour, 7 * 24 * time.Hour}

// marks are the times on the axis: few enough for a phone.
func (c Chart) marks() (marks []mark) {
	const most, edge = 4, 8
	span, zone := c.To.Sub(c.From), c.Zone
	if zone == nil {
		zone = time.UTC
	}
	step := 30 * 24 * time.Hour
	for _, s := range steps {
		if span/s <= most {
			step = s
			break
		}
	}
	layout := "15:04:05"
	switch {
	case step >= 24*time.Hour:
		layout = "2 Jan"
	case span > 24*time.Hour:
		layout = "2 Jan 15:04"
	case step >= time.Minute:
		layout = "15:04"
	}
	for at := c.From.Truncate(step).Add(step); at.Before(c.To) && len(marks) < 2*most; at = at.Add(step) {
		m := mark{X: c.x(at)}
		if m.X > edge && m.X < 100-edge {
			m.Text = at.In(zone).Format(layout)
		}
		marks = append(marks, m)
	}
	return marks
}
