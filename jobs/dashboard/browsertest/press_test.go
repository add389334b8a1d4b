package browsertest

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// mouse presses or releases the left button at a place.
func (b *tab) mouse(event input.DispatchMouseEventType, x, y float64) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: event, X: x, Y: y, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1,
		})
		return err
	}))
}

// countTakeOvers lets the page count how often it was brought up to date, and how often it got an answer.
const countTakeOvers = `(() => {
	window.taken = 0;
	window.answers = 0;
	document.documentElement.addEventListener("taken-over", () => window.taken++);
	const real = window.fetch;
	window.fetch = (...args) => real(...args).then((a) => { window.answers++; return a; });
	return true;
})()`

// TestPress holds a link down while the page gets new contents: the click arrives, and what is pressed is not replaced.
func TestPress(t *testing.T) {
	t.Parallel()
	r, _, _ := filled(t, operator)
	for name, target := range map[string]struct{ page, selector, leads string }{
		"overview": {"", `#running a[href^="cancel"]`, "Cancel this run"},
		"jobs":     {"jobs", `#list a.name[href*="import"]`, "import"},
		"locks":    {"locks", `#list a[href^="break"]`, "Break the lock"},
		"job":      {"job?name=import", `#runs a[href^="run?id"]`, "Run of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newTab(t, r.base()).press(target.page, target.selector, target.leads)
		})
	}
}

func (b *tab) press(page, selector, leads string) {
	b.open(page)
	b.await(fmt.Sprintf(`document.querySelector(%q)`, selector))
	ask[bool](b, countTakeOvers)
	at := ask[[]float64](b, fmt.Sprintf(`(() => {
		window.pressed = document.querySelector(%q);
		window.pressed.scrollIntoView({ block: "center" });
		const r = window.pressed.getBoundingClientRect();
		return [r.left + 8, r.top + r.height / 2];
	})()`, selector))
	b.mouse(input.DispatchMouseEventTypeMousePressed, at[0], at[1])
	before := ask[int](b, `window.taken`)
	b.await(`window.answers >= 2`)
	if ask[int](b, `window.taken`) != before || !ask[bool](b, `window.pressed.isConnected`) {
		b.t.Errorf("%q: the page changed under the pressed %s", page, selector)
	}
	b.mouse(input.DispatchMouseEventTypeMouseReleased, at[0], at[1])
	b.awaitText("h1", leads)
}

// TestLive_keeps looks for what an update must not take away: the element that has the focus, the selection, what is
// open or written in fields.
func TestLive_keeps(t *testing.T) {
	t.Parallel()
	r, _, _ := filled(t, operator)
	b := newTab(t, r.base())
	b.open("job?name=import")
	ask[bool](b, countTakeOvers)
	ask[bool](b, `(() => {
		window.focused = document.querySelector('#runs a[href^="run?id"]');
		window.focused.focus();
		document.querySelector('select[name="outcome"]').value = "lost";
		return true;
	})()`)
	taken := ask[int](b, `window.taken`)
	r.awaitOutcome(t, r.run(t, "import"))
	b.await(fmt.Sprintf(`window.taken >= %d && document.querySelectorAll("#runs tbody tr").length === 5`, taken+1))
	if !ask[bool](b, `document.activeElement === window.focused`) {
		t.Error("the update took the focus away, or replaced what had it")
	}
	if !ask[bool](b, `document.querySelector('select[name="outcome"]').value === "lost"`) {
		t.Error("the update changed what was chosen in a field")
	}
	ask[bool](b, `(() => {
		window.text = document.querySelector("#runs tbody td.text, #runs tbody td").firstChild;
		getSelection().selectAllChildren(document.querySelector("#runs tbody tr"));
		window.selected = String(getSelection());
		return window.selected.length > 0;
	})()`)
	taken = ask[int](b, `window.taken`)
	r.awaitOutcome(t, r.run(t, "import"))
	b.await(fmt.Sprintf(`window.taken >= %d`, taken+2))
	if !ask[bool](b, `String(getSelection()) === window.selected`) {
		t.Error("the update took the selection away")
	}
}

// TestZone sees times of the reader's zone beside those of a job.
func TestZone(t *testing.T) {
	t.Parallel()
	r := newRig(t, operator)
	b := newTab(t, r.base())
	b.inZone("Asia/Kolkata")
	b.open("job?name=report")
	b.awaitText("#ticks time", "02:30:00 C") // CET or CEST
	b.awaitText("#ticks .local", " yours")
	b.awaitText("#ticks .local", ":00:00") // 30 minutes off
	b.awaitText("#made", "yours is Asia/") // browsers know it by two names
}
