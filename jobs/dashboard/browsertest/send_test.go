package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// doorman lets forms pass to the dashboard when he is told to.
type doorman struct {
	base     string
	received atomic.Int32 // forms
	answered atomic.Int32
	let      func() // the forms pass
}

func newDoorman(t *testing.T, r *rig) *doorman {
	t.Helper()
	open := make(chan struct{})
	d := &doorman{let: sync.OnceFunc(func() { close(open) })}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPost {
			if err := req.ParseForm(); err != nil { // the whole of it, before the browser gives up
				t.Error(err)
			}
			d.received.Add(1)
			<-open
			defer d.answered.Add(1)
		}
		r.server.Config.Handler.ServeHTTP(w, req)
	}))
	t.Cleanup(front.Close)
	t.Cleanup(d.let)
	d.base = front.URL + "/ops/jobs/"
	return d
}

// awaitForms returns when so many were received, or answered.
func (d *doorman) awaitForms(t *testing.T, r *rig, count *atomic.Int32, n int32) {
	t.Helper()
	r.await(t, fmt.Sprintf("%d forms", n), func(context.Context) bool { return count.Load() >= n })
}

// clickAt is the n-th click of the mouse in a row.
func (b *tab) clickAt(x, y float64, n int64) {
	b.t.Helper()
	for _, event := range []input.DispatchMouseEventType{
		input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased,
	} {
		b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, input.DispatchMouseEvent, input.DispatchMouseEventParams{
				Type: event, X: x, Y: y, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: n,
			})
			return err
		}))
	}
}

// runsOf counts what ada has had run. What was asked for before this has begun when a later request has ended.
func (r *rig) runsOf(t *testing.T, job string) (n int) {
	t.Helper()
	r.awaitOutcome(t, r.run(t, job))
	runs, err := r.nodes[0].RecentRuns(t.Context(), 100, job)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs[0] {
		if run.Author == "ada" {
			n++
		}
	}
	return n
}

// TestSend_doubleClick: a button that is pressed twice acts once, also if the first request is slow.
func TestSend_doubleClick(t *testing.T) {
	t.Parallel()
	for name, scripts := range map[string]bool{"scripts": true, "no scripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, operator)
			d := newDoorman(t, r)
			b := newTab(t, d.base)
			if !scripts {
				b.withoutScripts()
			}
			b.open("run-now?name=warm-up")
			b.await(`document.querySelector(".confirm button")`)
			at := ask[[]float64](b, `(() => {
				const r = document.querySelector(".confirm button").getBoundingClientRect();
				return [r.left + 8, r.top + r.height / 2];
			})()`)
			b.clickAt(at[0], at[1], 1)
			d.awaitForms(t, r, &d.received, 1)
			b.clickAt(at[0], at[1], 2)
			if !scripts { // which let nobody press it again
				d.awaitForms(t, r, &d.received, 2)
			}
			d.let()
			b.awaitText(".note", "Asked the cluster to run “warm-up” now")
			d.awaitForms(t, r, &d.answered, d.received.Load())
			if n := r.runsOf(t, "warm-up"); n != 1 {
				t.Errorf("%d runs, of %d forms", n, d.received.Load())
			}
		})
	}
}

// TestSend_stopped: the answer does not arrive, as where the browser is stopped. The button comes to life again. It acts no second
// time.
func TestSend_stopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, operator)
	f := newFront(t, r)
	f.does(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodPost {
			r.server.Config.Handler.ServeHTTP(w, req)
			return
		}
		f.does(r.server.Config.Handler.ServeHTTP)
		r.server.Config.Handler.ServeHTTP(httptest.NewRecorder(), req)
		w.WriteHeader(http.StatusNoContent)
	})
	b := newTab(t, f.URL+"/ops/jobs/")
	b.open("run-now?name=warm-up")
	b.click(".confirm button", "Run now")
	b.await(`document.querySelector(".confirm button").disabled`)
	b.await(`!document.querySelector(".confirm button").disabled`)
	b.click(".confirm button", "Run now")
	b.awaitText(".note", "It was done once.")
	if n := r.runsOf(t, "warm-up"); n != 1 {
		t.Errorf("%d runs", n)
	}
}

// TestSend_back: whoever goes back to the form and sends it again means it.
func TestSend_back(t *testing.T) {
	t.Parallel()
	for name, scripts := range map[string]bool{"scripts": true, "no scripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, operator)
			b := newTab(t, r.base())
			if !scripts {
				b.withoutScripts()
			}
			b.open("run-now?name=warm-up")
			b.click(".confirm button", "Run now")
			b.awaitText(".note", "Asked the cluster to run “warm-up” now")
			ask[bool](b, `(history.back(), true)`)
			b.awaitPage("run-now?name=warm-up")
			b.await(`!document.querySelector(".confirm button").disabled`)
			b.click(".confirm button", "Run now")
			b.awaitText(".note", "Asked the cluster to run “warm-up” now")
			if n := r.runsOf(t, "warm-up"); n != 2 {
				t.Errorf("%d runs", n)
			}
		})
	}
}

// TestSend_reload loads the answer to a form again, which sends the form again.
func TestSend_reload(t *testing.T) {
	t.Parallel()
	r := newRig(t, operator)
	b := newTab(t, r.base())
	b.open("pause?name=import")
	b.fill("#reason", "all day")
	r.cluster.Outage(true)
	b.click(".confirm button", "Pause")
	b.awaitText(".problem", "Could not pause")
	r.cluster.Outage(false)
	b.do(chromedp.Reload())
	b.awaitText(".problem", "It was tried once.")
	b.click(".confirm button", "Pause")
	b.awaitText(".note", "Paused “import”")
}
