package dashboard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// allPages are the pages that show something in busyFake.
var allPages = []string{"", "jobs", "job?name=index", "job?name=report", "job?name=carts", "job?name=foreign",
	"run?id=report@7", "run?id=index@1", "locks", "once"}

// actionPages ask before they act.
var actionPages = []string{"run-now?name=index", "pause?name=index", "resume?name=carts", "cancel?id=index@1",
	"break?key=job:index", "withdraw?id=welcome-42"}

func TestHandler_pagesShow(t *testing.T) {
	h := busyFake().serve(operator)
	for page, texts := range map[string][]string{
		"": {"node-3", "silent", "draining", "−31 s", "set this clock", "1 min 30 s", "connection refused", "Coming up",
			"Missed ticks", `href="cancel?id=index%401"`, "3<i>/4</i>"},
		"jobs": {"Every 5 minutes", "*/5 * * * *", "Europe/Vienna", "paused by ada", "the shop is closed", "in 1 h", "error",
			"node-2 <small>fence 17</small>", "never ran", "known to other nodes only"},
		"job?name=report": {"Every day at 02:30", "30 2 * * *", "29 Mar 03:00:00", "clocks go forward", "clocks go back",
			"Run now",
			"61 ticks since 26 Mar 02:00:00: lock &#34;job:report&#34; is held by node-3", "<svg viewBox", "median 4 s", "once",
			"free"},
		"job?name=index": {"held by node-2, fence 17, for 1 min", "waiting: node-1, node-3, node-1 and 1 more", "running"},
		"job?name=carts": {"Paused by <b>ada</b>", "Resume"},
		"run?id=report@7": {"second line", "attempt 1 of 1", "report@7", "Took 4 s on node-2", "4 s after the tick",
			"<b>scheduled</b>"},
		"run?id=report@5": {"61 ticks since 26 Mar 02:00:00: lock", "<b>first of 61 ticks</b>", "Thu 26 Mar 2026 02:00:00",
			"<b>last tick</b>"},
		"run?id=index@1": {"For 1 min 30 s so far", `href="cancel?id=index%401"`},
		"locks": {"job:index", "order:42", "21 s", "kept by its minimum hold time", "<b>4</b>",
			`href="job?name=index"`},
		"locks?q=order": {"order:42", "1 to 1 of 1"},
		"once":          {"welcome-42", "mail", "in 1 min", "a@example.com", "Withdraw"},

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
		"": "No node has reported", "jobs": "The program has added no jobs", "jobs?q=x": "No job here has “x”",
		"jobs?state=paused": "No job is in this state", "locks": "No lock is held", "locks?q=a": "begins with “a”",
		"once": "No one-off job waits",
	} {
		expect(t, get(h, page), 200, text)
	}
}

func TestHandler_notFound(t *testing.T) {
	h := busyFake().serve(operator)
	for page, text := range map[string]string{
		"nonsense": "There is no page", "job?name=gone": "No node of this cluster has such a job", "job": "Not found",
		"run?id=gone": "There is no such run", "run": "Not found", "pause?name=gone": "Not found",
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
		Author: evil, Once: evil, Payload: []byte(evil), Tick: noon, Started: noon, Ended: noon}
	failed := r
	failed.Outcome = jobs.OutcomeError
	running := r
	running.Outcome, running.ID = "", evil+"2"
	st.Last, st.Running, st.Missed = &failed, []jobs.Run{running}, 1
	f.runs, f.failures = []jobs.Run{r, failed, failed}, []jobs.Run{failed}
	f.nodes[0].Name = evil
	f.locks = []lockrt.LockInfo{{Key: evil, Node: evil, Waiters: []lockrt.Waiter{{Node: evil}}}}
	f.waiting = []jobs.Once{{ID: evil, Handler: evil, Payload: []byte(evil)}}
	f.upcoming = []jobs.Upcoming{{Tick: noon, DST: evil}}
	cfg := Config{Title: evil, Authorize: func(*http.Request) (User, error) { return User{evil, RoleOperator}, nil }}
	h := f.serve(cfg)
	query := "=" + queryEscape(evil)
	for _, page := range []string{"", "jobs", "jobs?q" + query, "jobs?state" + query + "&sort" + query, "job?name" + query,
		"run?id" + query, "locks", "locks?q" + query, "once", "run-now?name" + query, "pause?name" + query,
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
	f.runs[0].Payload, f.runs[0].Once = []byte("pin 1234"), "x"
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
	expect(t, get(f.serve(operator), "once"), 200, "2 bytes that are no text")
}

// TestHandler_storeDown asks every page while nothing can be asked of the store.
func TestHandler_storeDown(t *testing.T) {
	for _, page := range append(append([]string{}, allPages...), actionPages[:5]...) {
		f := busyFake()
		f.down = errDown
		expect(t, get(f.serve(operator), page), 503, "The store is not available", "127.0.0.1:6379: connection refused",
			"was asked for", "Nothing is lost", "</html>")
	}
	f := busyFake()
	f.down = errDown
	expect(t, get(f.serve(operator), "jobs"), 503, "carts", "Every day at 02:30",
		"1 to 4 of 4") // what the node knows by itself
	if h := get(f.serve(operator), "").Header(); h.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
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

func TestOutcomeMark_allOutcomes(t *testing.T) {
	for outcome, want := range map[jobs.Outcome]mark{
		"": {kindBusy, "waiting"}, jobs.OutcomeOK: {kindGood, "ok"}, jobs.OutcomeError: {kindBad, "error"},
		jobs.OutcomePanic: {kindBad, "panic"}, jobs.OutcomeTimeout: {kindBad, "timeout"}, jobs.OutcomeLost: {kindBad, "lost"},
		jobs.OutcomeSkipped: {kindIdle, "skipped"}, jobs.OutcomeCancelled: {kindWarn, "cancelled"},
	} {
		if got := outcomeMark(jobs.Run{Outcome: outcome}); got != want {
			t.Errorf("%q: %v, want %v", outcome, got, want)
		}
	}
	if got := outcomeMark(jobs.Run{Started: noon}); got.Text != "running" {
		t.Errorf("begun and not ended: %v", got)
	}
}

func TestChartOf_bounds(t *testing.T) {
	var runs []jobs.Run
	for i := range 100 {
		runs = append(runs, jobs.Run{Started: noon, Ended: noon.Add(time.Duration(i) * time.Hour), Outcome: jobs.OutcomeOK})
	}
	runs[3].Ended = noon.Add(-time.Hour) // clocks
	c := chartOf(runs)
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
	if chartOf(runs[:1]) != nil || chartOf(nil) != nil {
		t.Error("a chart of nothing")
	}
}
