package browsertest

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestKeyboard_order goes through pages with the Tab key: it gets to everything that can be used, from top to bottom,
// and shows where it is.
func TestKeyboard_order(t *testing.T) {
	t.Parallel()
	r, running, _ := filled(t, operator)
	b := newTab(t, r.base())
	for _, page := range []string{"", "jobs", "job?name=import", "run?id=" + escape(running), "locks", "one-off",
		"break?key=job:index"} {
		b.open(page)
		// Updates would replace what has just been counted.
		ask[bool](b, `(() => { const live = document.querySelector("#live"); if (live) live.click(); return true; })()`)
		all := ask[int](b, `(window.all = [...document.querySelectorAll("a[href], button, input, select, textarea")].filter(
			e => e.type !== "hidden" && e.getClientRects().length)).length`)
		if all < 8 {
			t.Errorf("%q has only %d things to use", page, all)
		}
		ask[bool](b, `(window.all[0].focus(), true)`) // forms begin at the reason
		for i := 1; i < all; i++ {
			b.do(chromedp.KeyEvent(kb.Tab))
			if at := ask[int](b, `window.all.indexOf(document.activeElement)`); at != i {
				t.Fatalf("%q: Tab number %d leads to number %d of %d: %s", page, i, at, all,
					ask[string](b, `document.activeElement.outerHTML.slice(0, 200)`))
			}
			seen := ask[bool](b, `(() => {
				const s = getComputedStyle(document.activeElement);
				return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1;
			})()`)
			if !seen {
				t.Errorf("%q: the focus cannot be seen on %s", page,
					ask[string](b, `document.activeElement.outerHTML.slice(0, 200)`))
			}
		}
	}
}

// TestKeyboard pauses a job without the mouse.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	r := newRig(t, operator)
	b := newTab(t, r.base())
	b.open("job?name=import")
	b.do(chromedp.KeyEvent(kb.Tab))
	b.await(`document.activeElement.matches(".skip") && document.activeElement.getBoundingClientRect().top >= 0`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.await(`location.hash === "#main"`)
	for steps := 0; !ask[bool](b, `(document.activeElement.getAttribute("href") || "").startsWith("pause")`); steps++ {
		if steps > 20 {
			t.Fatal("the keyboard does not get to Pause")
		}
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	if ask[string](b, `getComputedStyle(document.activeElement).outlineStyle`) == "none" {
		t.Error("the focus cannot be seen")
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.await(`document.activeElement && document.activeElement.id === "reason"`)
	b.do(chromedp.KeyEvent("all day"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	b.awaitText(".note", "Paused “import”")
	status, err := r.nodes[2].Status(context.Background(), "import")
	if err != nil || status[0].Paused == nil || status[0].Paused.Reason != "all day" {
		t.Errorf("%+v, %v", status, err)
	}
}

// TestKeyboard_narrow: on a narrow screen, as where the text is large, nothing that has the focus is out of sight.
func TestKeyboard_narrow(t *testing.T) {
	t.Parallel()
	r, running, _ := filled(t, operator)
	b := newTab(t, r.base())
	b.sized(640, "light")
	for _, page := range []string{"", "jobs", "job?name=import", "run?id=" + escape(running), "locks", "one-off"} {
		b.open(page)
		b.await(`document.documentElement.clientWidth === 640`)
		if unseen := ask[string](b, `[...document.querySelectorAll("a[href]:not(.skip), button, input, select, textarea")].filter((e) => {
			if (e.type === "hidden" || !e.getClientRects().length) return false;
			e.focus();
			const r = e.getBoundingClientRect();
			const seen = document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
			return !seen || !e.contains(seen) && !seen.contains(e);
		}).map(e => e.outerHTML).join("\n")`); unseen != "" {
			t.Errorf("%q: cannot be seen: %s", page, unseen)
		}
	}
}

// enter presses the Enter key, or says that it is still down.
func (b *tab) enter(event input.DispatchKeyEventType, held bool) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, input.DispatchKeyEvent, input.DispatchKeyEventParams{
			Type: event, Key: "Enter", Code: "Enter", Text: "\r", WindowsVirtualKeyCode: 13, AutoRepeat: &held,
		})
		return err
	}))
}

// TestKeyboard_heldEnter: the key that leads to a question, and is held too long, does not answer it.
func TestKeyboard_heldEnter(t *testing.T) {
	t.Parallel()
	b := newTab(t, newRig(t, operator).base())
	b.open("run-now?name=warm-up")
	b.await(`document.activeElement && document.activeElement.matches(".confirm button")`)
	ask[bool](b, `(window.sent = 0, document.querySelector(".confirm").addEventListener("submit", (e) => {
		e.preventDefault();
		window.sent++;
	}), true)`)
	b.enter(input.DispatchKeyEventTypeKeyDown, true)
	b.enter(input.DispatchKeyEventTypeKeyDown, true)
	b.enter(input.DispatchKeyEventTypeKeyUp, false)
	if n := ask[int](b, `window.sent`); n > 0 {
		t.Errorf("a key that was held has sent the form %d times", n)
	}
	b.enter(input.DispatchKeyEventTypeKeyDown, false)
	b.await(`window.sent === 1`)
}

// TestKeyboard_danger: what cannot be taken back is not what the Enter key does at once.
func TestKeyboard_danger(t *testing.T) {
	t.Parallel()
	b := newTab(t, newRig(t, operator).base())
	b.open("withdraw?id=welcome-42")
	b.await(`document.activeElement && document.activeElement.matches(".confirm a.button")`)
}
