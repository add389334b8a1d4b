package browsertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/lockgen/lockgen/jobs/dashboard"
)

// filled is a rig with something on every screen.
func filled(t *testing.T, cfg dashboard.Config) (r *rig, running, failed string) {
	t.Helper()
	r = newRig(t, cfg)
	for range 3 {
		r.awaitOutcome(t, r.run(t, "import"))
	}
	r.broken.Store(true)
	failed = r.run(t, "import")
	r.awaitOutcome(t, failed)
	running = r.run(t, "index")
	r.awaitRunning(t, running)
	if err := r.nodes[1].Pause(t.Context(), "report", "bob", `<script>alert("reason")</script>`); err != nil {
		t.Fatal(err)
	}
	if err := r.nodes[1].At(t.Context(), "mail", "welcome-42", time.Now().Add(time.Hour),
		[]byte(`{"to":"<b>you</b>"}`)); err != nil {
		t.Fatal(err)
	}
	r.share(t)
	return r, running, failed
}

type screen struct{ name, page, selector, text string }

// screensOf are all screens of a filled rig.
func screensOf(running, failed string) []screen {
	return []screen{
		{"overview", "", "#running", "index"},
		{"jobs", "jobs", "#list", "paused by bob"},
		{"jobs-paused", "jobs?state=paused", "#list", "report"},
		{"jobs-none", "jobs?q=nothing+like+it", ".empty", "nothing like it"},
		{"job", "job?name=import", "#runs", "connection refused"},
		{"job-dst", "job?name=report", "#ticks", "02:30:00"},
		{"job-evil", "job?name=" + escape(evil), "h1", evil},
		{"run-failed", "run?id=" + escape(failed), ".error", "<b>connection refused</b>"},
		{"run-running", "run?id=" + escape(running), "#head", "so far"},
		{"locks", "locks", "#list", "job:index"},
		{"locks-shared", "locks?q=catalog", "#list", "3 readers"},
		{"locks-permits", "locks?q=gpu", "#list", "2 of 2 permits"},
		{"break-shared", "break?key=gpu", ".holders", "permit 1"},
		{"one-off", "one-off", "#list", "welcome-42"},
		{"run-now", "run-now?name=import", ".confirm", "Run import now?"},
		{"pause", "pause?name=import", ".confirm", "Pause import?"},
		{"resume", "resume?name=report", ".confirm", "Resume report?"},
		{"break", "break?key=job:index", ".confirm", "Break the lock"},
		{"cancel", "cancel?id=" + escape(running), ".confirm", "Cancel this run"},
		{"withdraw", "withdraw?id=welcome-42", ".confirm", "Withdraw the one-off job"},
		{"not-found", "job?name=gone", ".problem", "Not found"},
	}
}

// TestScreens_withoutScripts sees the same where the browser runs none.
func TestScreens_withoutScripts(t *testing.T) {
	t.Parallel()
	r, running, failed := filled(t, operator)
	b := newTab(t, r.base())
	b.withoutScripts()
	for _, s := range screensOf(running, failed) {
		b.open(s.page)
		b.awaitText(s.selector, s.text)
		if ask[bool](b, `!!document.querySelector("#live:not([hidden])")`) {
			t.Errorf("%s promises to be live", s.name)
		}
	}
	b.open("jobs")
	b.fill("#q", "vienna 02:30")
	b.click(".search button", "Search")
	b.awaitText(".count", "1 job found")
	b.click(`button[aria-label="Dark colours"]`, "")
	b.await(`document.documentElement.dataset.theme === "dark"`)
}

// look is a screen and its colours.
type look struct {
	width  int64
	scheme string
}

func (l look) String() string { return fmt.Sprintf("%s-%d", l.scheme, l.width) }

// looks are those of phones, tablets, small and large screens.
var looks = []look{
	{360, "light"}, {768, "light"}, {800, "light"}, {1280, "light"}, {1600, "light"}, {360, "dark"}, {1600, "dark"},
}

// fits looks whether the page is as wide as the screen, whether what is to be pressed is large enough, and whether no
// name is broken inside a word. It takes a picture.
func (b *tab) fits(name string) {
	b.t.Helper()
	if over := ask[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
		b.t.Errorf("%s scrolls sideways by %d px", name, over)
	}
	if small := ask[string](b, `[...document.querySelectorAll("button, .button, select, input")].filter(
		e => e.getClientRects().length && e.getBoundingClientRect().height < 24).map(e => e.outerHTML).join("\n")`); small != "" {
		b.t.Errorf("%s: less than 24 px high: %s", name, small)
	}
	if broken := ask[string](b, brokenWords); broken != "" {
		b.t.Errorf("%s: broken inside a word: %s", name, broken)
	}
	b.shoot(name)
}

// brokenWords finds pieces of text without a place to break them that stand on two lines all the same.
const brokenWords = `(() => {
	const broken = [];
	for (const e of document.querySelectorAll(".name, .list td, .badge, h1")) {
		if (e.closest(".text, .why, .confirm")) continue;
		for (const n of e.childNodes) {
			if (n.nodeType !== Node.TEXT_NODE) continue;
			for (const word of n.data.matchAll(/[\p{L}\p{N}]+/gu)) {
				const range = document.createRange();
				range.setStart(n, word.index);
				range.setEnd(n, word.index + word[0].length);
				const rows = new Set([...range.getClientRects()].filter(r => r.width > 0).map(r => Math.round(r.top)));
				if (rows.size > 1) broken.push(word[0] + " in " + e.textContent.trim().slice(0, 80));
			}
		}
	}
	return broken.join("; ");
})()`

// TestScreens looks at every screen in both themes, from a phone to a wide screen: it shows what it should, fits into
// the width, and nothing in it breaks the content security policy (see newTab).
func TestScreens(t *testing.T) {
	t.Parallel()
	r, running, failed := filled(t, operator)
	b := newTab(t, r.base())
	screens := screensOf(running, failed)
	for _, s := range screens {
		b.open(s.page)
		b.awaitText(s.selector, s.text)
		if n := ask[int](b,
			`document.querySelectorAll("b").length && [...document.querySelectorAll("b")].filter(e => e.textContent === `+
				`"connection refused").length`); n > 0 {
			t.Errorf("%s: a text became markup", s.name)
		}
		for _, l := range looks {
			b.sized(l.width, l.scheme)
			b.await(fmt.Sprintf(`document.documentElement.clientWidth === %d`, l.width))
			b.fits(s.name + "-" + l.String())
			if dark := ask[bool](b,
				`getComputedStyle(document.body).backgroundColor.match(/\d+/g)[0] < 60`); dark != (l.scheme == "dark") {
				t.Errorf("%s in %s colours has a dark background: %t", s.name, l.scheme, dark)
			}
		}
	}
}

// TestTheme_isKept chooses colours against those of the system.
func TestTheme_isKept(t *testing.T) {
	t.Parallel()
	b := newTab(t, newRig(t, operator).base())
	b.sized(1280, "light")
	b.open("jobs?sort=next")
	b.click(`button[aria-label="Dark colours"]`, "")
	b.await(`document.documentElement.dataset.theme === "dark"`)
	b.awaitPage("jobs?sort=next")
	b.open("locks")
	b.await(`getComputedStyle(document.body).backgroundColor.match(/\d+/g)[0] < 60`)
	b.click(`button[aria-label="Colours of the system"]`, "")
	b.await(`!document.documentElement.dataset.theme && ` +
		`getComputedStyle(document.body).backgroundColor.match(/\d+/g)[0] > 200`)
}

// TestLive sees a run begin and end without loading the page again.
func TestLive(t *testing.T) {
	t.Parallel()
	r := newRig(t, operator)
	b := newTab(t, r.base())
	b.open("job?name=index")
	ask[bool](b, `window.stayed = true`)
	b.awaitText("#live", "live")
	id := r.run(t, "index")
	b.awaitText("#running", "running")
	b.do(chromedp.Focus(chromedp.CSS(`#running a[href^="cancel"]`)))
	b.await(`document.querySelector("#running td.num").innerText !== "–"`)
	before := ask[string](b, `document.querySelector("#running td.num").innerText`)
	b.await(fmt.Sprintf(`document.querySelector("#running td.num").innerText !== %q`, before))
	if !ask[bool](b, `(document.activeElement.getAttribute("href") || "").startsWith("cancel")`) {
		t.Error("the update took the focus away")
	}
	if err := r.nodes[0].Cancel(t.Context(), id, "test", ""); err != nil {
		t.Fatal(err)
	}
	b.awaitText("#runs", "cancelled")
	b.await(`document.querySelector("#running").hidden`)
	if !ask[bool](b, `window.stayed === true`) {
		t.Error("the page was loaded again")
	}
}
