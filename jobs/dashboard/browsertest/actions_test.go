package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/dashboard"
)

// TestActions does everything that an operator can, with and without JavaScript.
func TestActions(t *testing.T) {
	t.Parallel()
	for name, scripts := range map[string]bool{"scripts": true, "no scripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, operator)
			b := newTab(t, r.base())
			if !scripts {
				b.withoutScripts()
			}
			t.Run("pause and resume", func(t *testing.T) { r.pauseAndResume(t, b.in(t)) })
			t.Run("run and cancel", func(t *testing.T) { r.runAndCancel(t, b.in(t)) })
			t.Run("break", func(t *testing.T) { r.breakLock(t, b.in(t)) })
			t.Run("break one of several", func(t *testing.T) { r.breakOne(t, b.in(t)) })
			t.Run("withdraw", func(t *testing.T) { r.withdraw(t, b.in(t)) })
			t.Run("missing reason", func(t *testing.T) { b.in(t).missingReason() })
		})
	}
}

// in is the tab for a part of a test.
func (b *tab) in(t *testing.T) *tab { return &tab{t: t, ctx: b.ctx, base: b.base} }

func (r *rig) pauseAndResume(t *testing.T, b *tab) {
	b.open("job?name=" + escape(evil))
	b.click("#actions a", "Pause")
	b.fill("#reason", "<i>broken</i>")
	b.click(".confirm button", "Pause")
	b.awaitText(".note", "Paused")
	b.awaitText("#head", "<i>broken</i>")
	status, err := r.nodes[1].Status(t.Context(), evil)
	if err != nil || status[0].Paused == nil || status[0].Paused.Author != "ada" ||
		status[0].Paused.Reason != "<i>broken</i>" {
		t.Fatalf("%+v, %v", status, err)
	}
	b.click("#actions a", "Resume")
	b.click(".confirm button", "Resume")
	b.awaitText(".note", "Resumed")
	if status, err = r.nodes[1].Status(t.Context(), evil); err != nil || status[0].Paused != nil {
		t.Errorf("%+v, %v", status, err)
	}
}

func (r *rig) runAndCancel(t *testing.T, b *tab) {
	b.open("job?name=index")
	b.click("#actions a", "Run now")
	b.click(".confirm button", "Run now")
	b.awaitText(".note", "Asked the cluster to run “index” now")
	var running []jobs.Run
	r.await(t, "a run of index", func(ctx context.Context) bool {
		running, _ = r.nodes[0].RunningRuns(ctx)
		return len(running) == 1 && !running[0].Started.IsZero()
	})
	b.open("run?id=" + escape(running[0].ID))
	b.click("#actions a", "Cancel")
	b.fill("#reason", "too slow")
	b.click(".confirm button", "Cancel the run")
	b.awaitText(".note", "Asked the node to cancel the run")
	if run := r.awaitOutcome(t, running[0].ID); run.Outcome != jobs.OutcomeCancelled || run.Author != "ada" &&
		run.Reason == "" {
		t.Errorf("%+v", run)
	}
}

func (r *rig) breakLock(t *testing.T, b *tab) {
	id := r.run(t, "index")
	r.awaitRunning(t, id)
	b.open("locks?q=job:")
	b.click("#list a", "Break")
	b.fill("#reason", "stuck")
	b.click(".confirm button", "Break the lock")
	b.awaitText(".note", "Broke the lock “job:index”")
	if run := r.awaitOutcome(t, id); run.Outcome != jobs.OutcomeLost {
		t.Errorf("%+v", run)
	}
}

// breakOne takes its permit from one of two nodes; the other keeps its own.
func (r *rig) breakOne(t *testing.T, b *tab) {
	permits := r.share(t)
	b.open("break?key=gpu")
	b.click(".each a", "Break")
	b.awaitText(".confirm h1", "Break the lock gpu for ")
	b.fill("#reason", "stuck")
	b.click(".confirm button", "Break it for this one")
	b.awaitText(".note", "The others keep it.")
	r.await(t, "one of two permits to be lost", func(context.Context) bool {
		return (permits[0].Err() != nil) != (permits[1].Err() != nil)
	})
}

func (r *rig) withdraw(t *testing.T, b *tab) {
	for _, id := range []string{"welcome-1", evil} {
		if err := r.nodes[1].At(t.Context(), "mail", id, time.Now().Add(time.Hour), []byte(evil)); err != nil {
			t.Fatal(err)
		}
	}
	b.open("one-off")
	b.awaitText("#list", "welcome-1")
	b.click(`#list a[aria-label^="Withdraw <script>"]`, "Withdraw")
	b.awaitText(".confirm h1", evil)
	b.click(".confirm button", "Withdraw")
	b.awaitText(".note", "Withdrew the one-off job “"+evil+"”")
	left, err := r.nodes[2].Waiting(t.Context(), 10)
	if err != nil || len(left) != 1 || left[0].ID != "welcome-1" {
		t.Errorf("%+v, %v wait, want welcome-1 only", left, err)
	}
	// A second operator, on a page that still shows it, is told.
	b.open("withdraw?id=" + escape(evil))
	b.click(".confirm button", "Withdraw")
	b.awaitText(".problem", "Could not withdraw")
}

// missingReason sends a form past the browser's own check.
func (b *tab) missingReason() {
	b.open("pause?name=import")
	ask[bool](b, `(document.querySelector(".confirm").noValidate = true)`)
	b.click(".confirm button", "Pause")
	b.awaitText(".problem", "A reason is missing")
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	r, running, _ := filled(t, dashboard.Config{})
	b := newTab(t, r.base())
	for _, page := range []string{"", "jobs", "job?name=index", "run?id=" + escape(running), "locks", "one-off"} {
		b.open(page)
		b.awaitText("footer", "read-only")
		if n := ask[int](b, `document.querySelectorAll("main form:not([role=search]), main .button").length`); n > 0 {
			t.Errorf("%q offers %d actions", page, n)
		}
	}
	b.open("pause?name=index")
	b.awaitText(".problem", "This dashboard is read-only")
	// The same from the page itself, which is of the same origin.
	if code := ask[int](b, fmt.Sprintf(`(() => {
		const r = new XMLHttpRequest();
		r.open("POST", %q, false);
		r.setRequestHeader("Content-Type", "application/x-www-form-urlencoded");
		r.send("name=index&reason=x");
		return r.status;
	})()`, r.base()+"pause")); code != http.StatusForbidden {
		t.Errorf("a post is answered with %d", code)
	}
}

// TestForgedPost lets a page of another origin send the form of an operator who is signed in.
func TestForgedPost(t *testing.T) {
	t.Parallel()
	r := newRig(t, operator)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!doctype html><title>Win</title><link rel="icon" href="data:,"><form method="post" action="%spause">
			<input name="name" value="import"><input name="reason" value="forged"><button>Win a prize</button></form>`, r.base())
	}))
	t.Cleanup(other.Close)
	b := newTab(t, r.base())
	b.do(chromedp.Navigate(other.URL))
	b.click("button", "Win a prize")
	b.awaitText(".problem", "Request from another site refused")
	status, err := r.nodes[0].Status(t.Context(), "import")
	if err != nil || status[0].Paused != nil {
		t.Errorf("%+v, %v", status, err)
	}
}

// TestStoreDown takes the store away under an open page.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	r := newRig(t, operator)
	b := newTab(t, r.base())
	b.open("")
	b.awaitText("#nodes", "n2")
	r.cluster.Outage(true)
	b.awaitText("#unknown", "Unknown since")
	b.awaitText("#live", "unknown")
	b.awaitText("#nodes", "n2")
	b.await(`getComputedStyle(document.querySelector(".content")).filter.includes("grayscale")`)
	for _, no := range []string{"silent", "0/3"} {
		if text := ask[string](b, `document.querySelector("main").innerText`); strings.Contains(text, no) {
			t.Errorf("says %q:\n%s", no, text)
		}
	}
	for _, l := range looks {
		b.sized(l.width, l.scheme)
		b.fits("store-down-" + l.String())
	}
	r.cluster.Outage(false)
	b.awaitText("#back", "The store answers again since")
	b.await(`document.querySelector("#unknown").hidden`)
	b.awaitText("#live", "live")
	b.shoot("store-back")
}

// TestStoreDown_atFirst opens a page while nothing is known: it comes to life when the store does.
func TestStoreDown_atFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, operator)
	r.cluster.Outage(true)
	b := newTab(t, r.base())
	b.open("")
	b.awaitText("#unknown", "Unknown since")
	b.awaitText("#live", "unknown")
	if text := ask[string](b, `document.querySelector("main").innerText`); strings.Contains(text, "No node") {
		t.Errorf("says what nobody knows:\n%s", text)
	}
	r.cluster.Outage(false)
	b.awaitText("#nodes", "n2")
	b.awaitText("#live", "live")
}
