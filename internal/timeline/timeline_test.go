package timeline

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

func svg(t *testing.T, c Chart) string {
	t.Helper()
	text, err := c.SVG()
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return string(text)
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
}

// A kill is a bar that breaks off, and a line to where it begins again in another lane.
func TestChart_SVG_kill(t *testing.T) {
	c := Chart{From: noon, To: at(100), Lanes: []Lane{{Name: "node-1"}, {Name: "node-2", Note: "killed"}}, Bars: []Bar{
		{Lane: "node-2", From: at(10), To: at(30), Kind: "bad", Broken: true, Chain: "carts 12:00:10"},
		{Lane: "node-1", From: at(50), To: at(60), Kind: "good", Chain: "carts 12:00:10", Link: "run?id=a&b", Title: "again"},
		{Lane: "node-1", From: at(55), To: at(58), Kind: "good", Chain: "another"},
	}, Ticks: []Tick{{At: at(10), Kind: "good", Title: "carts"}, {At: at(-1)}, {At: at(101)}}}
	text := svg(t, c)
	for _, want := range []string{`class="bar bad broken" x="10%"`, `width="20%"`, `class="join" x1="30%"`, `x2="50%"`,
		`href="run?id=a&amp;b"`, "<title>again</title>", "killed", `class="tick good" x1="10%"`, ">12:00:30<"} {
		if !strings.Contains(text, want) {
			t.Errorf("has no %s:\n%s", want, text)
		}
	}
	for what, n := range map[string]int{`class="join"`: 1, `class="break"`: 1, `class="tick`: 1, `class="lane"`: 2} {
		if got := strings.Count(text, what); got != n {
			t.Errorf("%d times %s, want %d", got, what, n)
		}
	}
}

// Bars of one lane that overlap in time do not on the page, and all that is drawn lies on it.
func TestChart_draw_places(t *testing.T) {
	c := Chart{From: noon, To: at(60)}
	for i := range 40 {
		c.Bars = append(c.Bars, Bar{Lane: fmt.Sprint("node-", i%3), From: at(float64(i) - 5), To: at(float64(i)*2 + 3), Kind: "good"})
	}
	d := c.draw()
	if len(d.Lanes) != 3 {
		t.Errorf("%d lanes", len(d.Lanes))
	}
	for i, b := range d.Bars {
		if b.X < 0 || b.X+b.Width > 100+leastWidth || b.Y < 0 || b.Y+b.Height > d.TickY {
			t.Errorf("outside: %+v", b)
		}
		for _, other := range d.Bars[:i] {
			if other.Y == b.Y && other.row < mostRows-1 && other.End > b.X {
				t.Errorf("%+v lies on %+v", b, other)
			}
		}
	}
}

func TestChart_SVG_escapes(t *testing.T) {
	const evil = `<script>alert(1)</script>"'><img src=x>`
	text := svg(t, Chart{From: noon, To: at(9), Label: evil, Lanes: []Lane{{Name: evil, Note: evil}},
		Bars:  []Bar{{Lane: evil, Label: evil, Title: evil, Link: "javascript:alert(1)", Kind: evil, From: noon, To: at(1)}},
		Ticks: []Tick{{At: noon, Kind: evil, Title: evil}}})
	for _, no := range []string{"<script", "<img", `"javascript:`, " style="} {
		if strings.Contains(text, no) {
			t.Errorf("has %s:\n%s", no, text)
		}
	}
}

func TestChart_marks_areFew(t *testing.T) {
	for span := time.Second; span < 400*24*time.Hour; span = span*3/2 + time.Second {
		marks := Chart{From: noon.Add(7 * time.Millisecond), To: noon.Add(span)}.marks()
		if len(marks) > 8 || len(marks) < 1 && span > 3*time.Second && span < 30*24*time.Hour {
			t.Errorf("%d marks in %s", len(marks), span)
		}
	}
	svg(t, Chart{From: noon, To: noon})
}
