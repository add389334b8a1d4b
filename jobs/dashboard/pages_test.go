package dashboard

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// allPages are the pages that show something in busyFake.
var allPages = []string{"", "jobs", "job?name=index", "job?name=report", "job?name=carts", "job?name=foreign",
	"run?id=report@7", "run?id=index@1", "runs", "locks", "one-off"}

// actionPages ask before they act.
var actionPages = []string{"run-now?name=index", "again?id=report@7", "pause?name=index", "resume?name=carts", "cancel?id=index@1",
	"break?key=job:index", "withdraw?id=welcome-42"}

func TestHandler_pagesShow(t *testing.T) {
	h := busyFake().serve(operator)
	for page, texts := range map[string][]string{
		"": {"node-3", "silent", "draining", "−31 s", "set this clock", "1 min 30 s", "connection refused", "Coming up",
			"Missed ticks", `href="cancel?id=index%401"`, "3<i>/4</i>"},
		"runs":                        {"report@7", "dial tcp"},
		"runs?outcome=ok":             {"report@6", "1 to 1 of 1"},
		"runs?node=node-2&outcome=ok": {"report@6", `<option value="node-2" selected>`},
		"runs?outcome=panic":          {"None of the last 3 runs is like that"},
		"runs?job=REPORT&from=2026-03-28T00:00&until=2026-03-28T04:00":     {"report@7", "1 to 1 of 1", `value="2026-03-28 04:00:00"`},
		"runs?job=report&from=02:59&until=03:01":                           {"report@7", "1 to 1 of 1"},
		"runs?from=2026-03-28T03:59:00%2B01:00&until=2026-03-28T03:01:00Z": {"report@7", "1 to 1 of 1"},
		"runs?from=2026-02-30&until=noon": {"Not understood: “2026-02-30”", "the field “from” were empty", "Not understood: “noon”", `value="noon"`,
			"1 to 3 of 3"},
		"jobs?state=faling":                {"Not understood: “faling”", "report"},
		"job?name=report&from=3+pm":        {"Not understood: “3 pm”"},
		"runs?job=report&until=2026-03-27": {"report@5", "1 to 1 of 1"},
		"again?id=report@7":                {"Run this tick of report again?", "Sat 28 Mar 2026 03:00:00.000 UTC", "ended as error"},
		"jobs": {"Every 5 minutes", "*/5 * * * *", "Europe/Vienna", "paused by ada", "the shop is closed", "in 1 h", "error",
			`node-2 <small title="17">fence 17</small>`, "never ran", "nobody knows its schedule any more", "no node has it"},
		"job?name=report": {"Every day at 02:30", "30 2 * * *", "29 Mar 03:00:00", "clocks go forward", "clocks go back",
			"Run now",
			"61 ticks since 26 Mar 02:00:00: lock &#34;job:report&#34; is held by node-3", "<svg viewBox", "median 4 s", "one-off", `class="timeline"`, "Throughput", "Lateness",
			"free"},
		"job?name=index": {"held by node-2, fence 17, for 1 min", "waiting: node-1, node-3, node-1 and 1 more", "running"},
		"job?name=carts": {"Paused by <b>ada</b>", "Resume"},
		"run?id=report@7": {"second line", "attempt 1 of 1", "report@7", "Took 4 s on node-2", "4 s after the tick",
			"<b>scheduled</b>"},
		"run?id=report@6": {"Asked to end", "by bob at 03:00:00 UTC: it disturbs"},
		"run?id=report@5": {"61 ticks since 26 Mar 02:00:00: lock", "<b>first of 61 ticks</b>", "Thu 26 Mar 2026 02:00:00",
			"<b>last tick</b>"},
		"run?id=index@1": {"For 1 min 30 s so far", `href="cancel?id=index%401"`},
		"locks": {"job:index", "order:42", "21 s", "kept by its minimum hold time", "<b>4</b>",
			`href="job?name=index"`},
		"locks?q=order": {"order:42", "1 on this page: all that are held"},
		"one-off":       {"welcome-42", "mail", "in 1 min", "a@example.com", "Withdraw"},

		"run-now?name=index": {"Run index now?", "It is running at present", `<form method="post" action="run-now"`,
			`value="index"`},
		"pause?name=index":    {"Pause index?", "required"},
		"resume?name=carts":   {"Resume carts?", "Paused by ada 1 h ago", "the shop is closed"},
		"cancel?id=index@1":   {"Cancel this run of index?", "node-2, for 1 min 30 s so far"},
		"break?key=job:index": {"held by node-2, with fence 17", `name="holder" value="17"`},
	} {
		t.Run(page, func(t *testing.T) { expect(t, get(h, page), 200, texts...) })
	}
}

func TestHandler_emptyCluster(t *testing.T) {
	h := (&fake{}).serve(operator)
	for page, text := range map[string]string{
		"": "No node has reported", "jobs": "No node has added a job", "jobs?q=x": "No job here has “x”",
		"jobs?state=paused": "No job is in this state", "locks": "No lock is held", "locks?q=a": "begins with “a”",
		"one-off": "No one-off job waits",
	} {
		expect(t, get(h, page), 200, text)
	}
}

func TestHandler_notFound(t *testing.T) {
	h := busyFake().serve(operator)
	for page, text := range map[string]string{
		"nonsense": "There is no page", "job?name=gone": "No node of this cluster has such a job", "job": "Not found",
		"run?id=gone": "There is no such run", "run": "Not found", "pause?name=gone": "Not found",
		"pause?name=one-off:mail": "Not found", "resume?name=one-off:mail": "Not found", "run-now?name=one-off:gone": "Not found",
		"cancel?id=gone": "Not found",
		"style.html":     "There is no page",
	} {
		expect(t, get(h, page), 404, text, "To the overview")
	}
	expect(t, get(h, "break?key=free"), 409, "Nobody holds this lock any more")
	expect(t, get(h, "cancel?id=report@7"), 409, "The run has ended already")
}

// TestHandler_escapes puts markup everywhere that text of others comes from.
func TestHandler_escapes(t *testing.T) {
	const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`
	f := busyFake()
	st := &f.statuses[2]
	st.Job.Name, st.Job.Keys, st.Job.Spec, st.Job.TZ = evil, []string{evil}, evil, evil
	st.Paused = &jobs.Pause{Author: evil, Reason: evil, At: noon}
	r := jobs.Run{ID: evil, Job: evil, Node: evil, Outcome: jobs.Outcome(evil), Reason: evil, Error: evil, Trigger: evil,
		Author: evil, OneOff: evil, Payload: []byte(evil), Tick: noon, Started: noon, Ended: noon}
	failed := r
	failed.Outcome = jobs.OutcomeError
	running := r
	running.Outcome, running.ID = "", evil+"2"
	st.Last, st.Running, st.Missed = &failed, []jobs.Run{running}, 1
	f.runs, f.failures = []jobs.Run{r, failed, failed}, []jobs.Run{failed}
	f.nodes[0].Name = evil
	f.locks = []lockrt.LockInfo{{Key: evil, Node: evil, Waiters: []lockrt.Waiter{{Node: evil}}}}
	f.waiting = []jobs.OneOff{{ID: evil, Handler: evil, Payload: []byte(evil)}}
	f.upcoming = []jobs.Upcoming{{Tick: noon, DST: evil}}
	cfg := Config{Title: evil, Authorize: func(*http.Request) (User, error) { return User{evil, RoleOperator}, nil }}
	h := f.serve(cfg)
	query := "=" + queryEscape(evil)
	for _, page := range []string{"", "jobs", "jobs?q" + query, "jobs?state" + query + "&sort" + query, "job?name" + query,
		"run?id" + query, "locks", "locks?q" + query, "one-off", "run-now?name" + query, "pause?name" + query,
		"resume?name" + query, "cancel?id" + query + "2", "break?key" + query, "withdraw?id" + query,
		"nonsense" + queryEscape("<script>alert(1)"), "run?id=gone" + queryEscape(evil)} {
		body := get(h, page).Body.String()
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img") || strings.Contains(body, `"'>`) {
			t.Errorf("%s: not escaped:\n%s", page, body)
		}
		if !strings.Contains(body, "&lt;script&gt;alert(1)") {
			t.Errorf("%s: not shown:\n%s", page, body)
		}
	}
	w := post(h, "pause", "name", evil, "reason", evil)
	w = follow(h, w)
	if body := w.Body.String(); strings.Contains(body, "<script>alert") ||
		!strings.Contains(body, "Paused “&lt;script&gt;") {
		t.Errorf("message of the action: %s", body)
	}
	f.refuses = fmt.Errorf("%s", evil)
	if body := post(h, "pause", "name", evil, "reason", evil).Body.String(); strings.Contains(body, "<script>alert") ||
		strings.Contains(body, "<img") {
		t.Errorf("error of the action: %s", body)
	}
}

func TestHandler_redacts(t *testing.T) {
	f := busyFake()
	fields := map[string]bool{}
	cfg := operator
	cfg.Redact = func(field, value string) string { fields[field] = true; return "[" + field + " withheld]" }
	f.runs[0].Payload, f.runs[0].OneOff = []byte("pin 1234"), "x"
	h := f.serve(cfg)
	for _, page := range allPages {
		body := get(h, page).Body.String()
		for _, secret := range []string{"connection refused", "second line", "the shop is closed", "a@example.com", "1234",
			"held by node-3", "attempt 1 of 1"} {
			if strings.Contains(body, secret) {
				t.Errorf("%s shows %q", page, secret)
			}
		}
	}
	// Errors of the store may name its address and its user.
	withheld := func(w *httptest.ResponseRecorder, status int) {
		t.Helper()
		if expect(t, w, status, "[error withheld]"); strings.Contains(w.Body.String(), "refused") {
			t.Errorf("shows the error:\n%s", w.Body)
		}
	}
	f.refuses = errDown
	withheld(post(f.serve(cfg), "resume", "name", "carts"), 503)
	f.unlocked = errDown
	withheld(get(f.serve(cfg), "job?name=index"), 200)
	withheld(get(f.serve(cfg), "locks"), 503)
	f.down = errDown
	withheld(get(f.serve(cfg), ""), 503)
	if !fields["error"] || !fields["reason"] || !fields["payload"] {
		t.Errorf("asked about %v", fields)
	}
}

func TestHandler_payloadOfBytes(t *testing.T) {
	f := busyFake()
	f.waiting[0].Payload = []byte{0xff, 0xfe}
	expect(t, get(f.serve(operator), "one-off"), 200, "2 bytes that are no text")
}

// falsehoods are what nobody knows while the store does not answer.
var falsehoods = []string{"<i>/", "No lock is held", "No node has", "Nothing runs", "No failures", "Nothing is lost", "No one-off job",
	"No record", "never ran", "silent"}

// TestHandler_storeDown asks every page while nothing was ever asked of the store with success.
func TestHandler_storeDown(t *testing.T) {
	for _, page := range append(append([]string{}, allPages...), actionPages[:6]...) {
		f := busyFake()
		f.down = errDown
		w := get(f.serve(operator), page)
		expect(t, w, 503, "127.0.0.1:6379: connection refused", "was asked for", "</html>")
		if slices.Contains(allPages, page) {
			expect(t, w, 503, "Unknown since 12:00:00 UTC", "Nothing was known before", `id="live"`)
		}
		for _, no := range falsehoods {
			if strings.Contains(w.Body.String(), no) {
				t.Errorf("%q says %q:\n%s", page, no, w.Body)
			}
		}
		if w.Header().Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
}

// TestHandler_partAway shows what the rest of the store says, and that something is missing.
func TestHandler_partAway(t *testing.T) {
	for page, questions := range map[string][]string{
		"":                {"count", "running", "latest", "failures", "missed", "page", "runs"},
		"jobs":            {"count", "nodes", "page"},
		"job?name=report": {"status", "nodes", "runs"},
		"runs":            {"latest", "runs"},
	} {
		f := busyFake()
		whole := get(f.serve(operator), page)
		f.parted = questions
		w := get(f.serve(operator), page)
		expect(t, w, 200, "A part of the store does not answer", "What is in it is missing on this page",
			"1 of 17 parts of the job store do not answer (3)", "report")
		if before, after := parts(whole.Body.String(), "content"), parts(w.Body.String(), "content"); before != after {
			t.Errorf("%q shows\n%s\nwant what the parts have told\n%s", page, after, before)
		}
		f.down = errDown
		expect(t, get(f.serve(operator), page), 503, "Unknown since")
	}
}

// TestHandler_storeGoesDown shows what was known, as of then, and says so when the store is back.
func TestHandler_storeGoesDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, page := range allPages {
			f := busyFake()
			clock := &clock{now: noon}
			d := newDashboard(clocked{f, clock}, f, operator)
			d.cfg.Logger = slog.New(slog.DiscardHandler)
			d.upcoming = func(jobs.Info, time.Time, int) []jobs.Upcoming { return f.upcoming }
			before := parts(get(d, page).Body.String(), "content")
			d.forget()
			time.Sleep(40 * time.Second)
			clock.now, f.down = noon.Add(40*time.Second), errDown
			w := get(d, page)
			expect(t, w, 503, "Unknown since 12:00:00 UTC <small>40 s ago</small>", "Greyed below is what was known then",
				"connection refused")
			if after := parts(w.Body.String(), "content"); after != before {
				t.Errorf("%q: known was\n%s\nand is shown as\n%s", page, before, after)
			}
			d.forget()
			time.Sleep(10 * time.Second)
			clock.now, f.down = noon.Add(50*time.Second), nil
			expect(t, get(d, page), 200, "The store answers again since 12:00:50 UTC, after 10 s without an answer")
			d.forget()
			time.Sleep(backFor)
			clock.now = clock.now.Add(backFor)
			if w := get(d, page); w.Code != 200 || strings.Contains(w.Body.String(), "answers again") {
				t.Errorf("%q: half a minute later it says so still: %d", page, w.Code)
			}
		}
	})
}

// clock is a store's clock that a test sets.
type clock struct{ now time.Time }

type clocked struct {
	*fake
	clock *clock
}

func (c clocked) Now() time.Time { return c.clock.now }

// parts returns what stands in an element with the class, to the end of the page's main part.
func parts(page, class string) string {
	_, rest, _ := strings.Cut(page, `class="`+class+`"`)
	part, _, _ := strings.Cut(rest, "</main>")
	return part
}

func TestHandler_liveParts(t *testing.T) {
	h := busyFake().serve(operator)
	ids := regexp.MustCompile(`id="([^"]+)" data-live`)
	for _, page := range allPages {
		whole := get(h, page).Body.String()
		r := httptest.NewRequest("GET", "/jobs/"+page, nil)
		r.Header.Set(liveHeader, "1")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		part := w.Body.String()
		if strings.Contains(part, "<html") || len(part) >= len(whole) {
			t.Errorf("%s: more than its parts:\n%s", page, part)
		}
		found := ids.FindAllStringSubmatch(whole, -1)
		for _, id := range found {
			if n := strings.Count(whole, `id="`+id[1]+`"`); n != 1 {
				t.Errorf("%s: %d elements with the id %s", page, n, id[1])
			}
			if !strings.Contains(part, `id="`+id[1]+`"`) {
				t.Errorf("%s: %s is not brought up to date", page, id[1])
			}
		}
		if live := strings.Contains(whole, `id="live"`); live != (page != "run?id=report@7") {
			t.Errorf("%s: says that it is live: %t", page, live)
		}
	}
}

func TestOutcomeBadge_allOutcomes(t *testing.T) {
	for outcome, want := range map[jobs.Outcome]badge{
		"": {kindBusy, "waiting"}, jobs.OutcomeOK: {kindGood, "ok"}, jobs.OutcomeError: {kindBad, "error"},
		jobs.OutcomePanic: {kindBad, "panic"}, jobs.OutcomeTimeout: {kindBad, "timeout"}, jobs.OutcomeLost: {kindBad, "lost"},
		jobs.OutcomeSkipped: {kindIdle, "skipped"}, jobs.OutcomeCancelled: {kindWarn, "cancelled"},
	} {
		if got := outcomeBadge(jobs.Run{Outcome: outcome}); got != want {
			t.Errorf("%q: %v, want %v", outcome, got, want)
		}
	}
	if got := outcomeBadge(jobs.Run{Started: noon}); got.Text != "running" {
		t.Errorf("begun and not ended: %v", got)
	}
}

func TestDurationChart_bounds(t *testing.T) {
	var runs []jobs.Run
	for i := range 100 {
		runs = append(runs, jobs.Run{Started: noon, Ended: noon.Add(time.Duration(i) * time.Hour), Outcome: jobs.OutcomeOK})
	}
	runs[3].Ended = noon.Add(-time.Hour) // clocks
	c := durationChart(runs)
	if len(c.Bars) != chartBars {
		t.Fatalf("%d bars", len(c.Bars))
	}
	for _, b := range c.Bars {
		if b.Y < 0 || b.Height < 1 || b.Y+b.Height != chartHeight || b.X+barWidth > c.Width {
			t.Errorf("outside: %+v", b)
		}
	}
	if first := c.Bars[0]; first.Height != chartHeight {
		t.Errorf("the oldest was the longest: %+v", first)
	}
	if durationChart(runs[:1]) != nil || durationChart(nil) != nil {
		t.Error("a chart of nothing")
	}
}
