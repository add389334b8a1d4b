package dashboard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// follow goes where an action leads, with the cookies it set.
func follow(h http.Handler, w *httptest.ResponseRecorder) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/jobs/"+w.Header().Get("Location"), nil)
	for _, c := range w.Result().Cookies() {
		if c.MaxAge >= 0 {
			r.AddCookie(c)
		}
	}
	next := httptest.NewRecorder()
	h.ServeHTTP(next, r)
	return next
}

func TestHandler_actions(t *testing.T) {
	for i, test := range []struct{ done, leads, says string }{
		{"run index by ada", "job?name=index", "Asked the cluster to run “index” now, as run r1"},
		{"run report@7 again by ada", "run?id=index%401", "Asked the cluster to run the tick again, as run index@1"},
		{"pause index by ada: why", "job?name=index", "Paused “index” on all nodes"},
		{"resume carts by ada", "job?name=carts", "Resumed “carts” on all nodes"},
		{"cancel index@1 by ada: why", "run?id=index%401", "Asked the node to cancel the run"},
		{"break job:index: why (by ada)", "locks", "Broke the lock “job:index”"},
		{"withdraw welcome-42", "one-off", "Withdrew the one-off job “welcome-42”"},
	} {
		f := busyFake()
		h := f.serve(operator)
		w := post(h, actions[i][0], actions[i][1:]...)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != test.leads {
			t.Fatalf("%v: %d to %q\n%s", actions[i], w.Code, w.Header().Get("Location"), w.Body)
		}
		if len(f.done) != 1 || f.done[0] != test.done {
			t.Errorf("%v did %q, want %q", actions[i], f.done, test.done)
		}
		if c := w.Result().Cookies(); len(c) != 1 || c[0].MaxAge != 60 {
			t.Errorf("%v: the message is kept in %v", actions[i], c)
		}
		next := follow(h, w)
		expect(t, next, 200, `role="status"`, test.says)
		if c := next.Result().Cookies(); len(c) != 1 || c[0].MaxAge >= 0 {
			t.Errorf("the message stays: %v", c)
		}
	}
}

func TestHandler_actions_fail(t *testing.T) {
	for text, test := range map[string]struct {
		err    error
		status int
	}{
		"No node of this cluster has such a job":   {jobs.ErrUnknownJob, 404},
		"There is no such run: it has ended":       {jobs.ErrUnknownRun, 404},
		"The store of this cluster cannot do that": {errors.ErrUnsupported, 501},
		"it may have happened or not":              {context.DeadlineExceeded, 503},
		"127.0.0.1:6379: connection refused":       {errDown, 503},
	} {
		for _, action := range actions {
			f := busyFake()
			f.refuses = fmt.Errorf("do it: %w", test.err)
			w := post(f.serve(operator), action[0], action[1:]...)
			expect(t, w, test.status, text, "Could not")
			if w.Header().Get("Location") != "" || w.Header().Get("Set-Cookie") != "" {
				t.Errorf("%v: goes on as if it had worked", action)
			}
			if len(action) == 5 {
				expect(t, w, test.status, ">why</textarea>") // to be sent again
			}
		}
	}
}

func TestHandler_actions_reason(t *testing.T) {
	f := busyFake()
	h := f.serve(operator)
	for _, reason := range []string{"", " \n\t", strings.Repeat("x", maxReason+1), "\xff"} {
		expect(t, post(h, "pause", "name", "index", "reason", reason), 422, "Nothing was changed yet", "Pause index?")
		expect(t, post(h, "break", "key", "job:index", "holder", "17", "reason", reason), 422, "Nothing was changed yet")
	}
	expect(t, post(h, "cancel", "id", "index@1", "reason", strings.Repeat("x", maxReason+1)), 422)
	if len(f.done) > 0 {
		t.Errorf("did %q", f.done)
	}
	if w := post(h, "pause", "name", "index", "reason", strings.Repeat("ä", maxReason)); w.Code != 303 {
		t.Errorf("a reason of %d letters: %d", maxReason, w.Code)
	}
	if w := post(h, "pause", "name", "index", "reason", strings.Repeat("x", maxForm)); w.Code != 400 {
		t.Errorf("a form of 64 kB: %d", w.Code)
	}
}

func TestHandler_break_changedHands(t *testing.T) {
	f := busyFake()
	w := post(f.serve(operator), "break", "key", "job:index", "holder", "16", "reason", "stuck")
	expect(t, w, 409, "The lock has changed hands", "held by node-2 now, with fence 17", `name="holder" value="17"`,
		">stuck</textarea>")
	if len(f.done) > 0 {
		t.Errorf("did %q", f.done)
	}
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// A browser sends the fields of a form with CRLF for each end of a line, and no bytes that are no text: what they name is
// what is acted on all the same.
func TestHandler_actions_oddNames(t *testing.T) {
	for _, key := range []string{"a\nb", "a\rb", "a\r\nb", "\xff\xfe", "a%0Ab", "a+b", "a&b=c;d", " a ", "é\u2028"} {
		f := busyFake()
		f.locks = append(f.locks, lockrt.LockInfo{Key: key, Node: "node-3", ID: "y", Fence: 23, Since: noon.Add(-time.Second)})
		h := f.serve(operator)
		page := get(h, "break?key="+url.QueryEscape(key))
		expect(t, page, 200)
		form := []string{"reason", "stuck"}
		for _, field := range hidden.FindAllStringSubmatch(page.Body.String(), -1) {
			value := strings.ReplaceAll(html.UnescapeString(field[2]), "\r\n", "\n")
			value = strings.ReplaceAll(strings.ReplaceAll(value, "\r", "\n"), "\n", "\r\n")
			form = append(form, field[1], strings.ToValidUTF8(value, "\ufffd"))
		}
		expect(t, post(h, "break", form...), 303)
		if len(f.done) != 1 || !strings.Contains(f.done[0], key) {
			t.Errorf("%q: did %q", key, f.done)
		}
	}
}

// TestHandler_actions_pagesAfterSeeThem: what was asked of the store before must not be shown after.
func TestHandler_actions_pagesAfterSeeThem(t *testing.T) {
	f := busyFake()
	h := f.serve(operator)
	began := time.Now()
	get(h, "jobs")
	get(h, "jobs")
	before := f.count("nodes")
	if most := 1 + int(time.Since(began)/freshFor); before > most {
		t.Errorf("asked %d times for both, want %d at the most", before, most)
	}
	post(h, "resume", "name", "carts")
	get(h, "jobs")
	if n := f.count("nodes"); n != before+1 {
		t.Errorf("asked %d times, then %d, want again after the action", before, n)
	}
}

func TestHandler_unnamedOperator(t *testing.T) {
	f := busyFake()
	post(f.serve(as("", RoleOperator, nil)), "run-now", "name", "index")
	if len(f.done) != 1 || f.done[0] != "run index by unnamed operator" {
		t.Errorf("did %q", f.done)
	}
}

func TestHandler_note_isNotBelieved(t *testing.T) {
	h := busyFake().serve(operator)
	for _, value := range []string{"!!!", "e30", "bm90IGpzb24"} {
		r := httptest.NewRequest("GET", "/jobs/", nil)
		r.AddCookie(&http.Cookie{Name: noteCookie, Value: value})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 || strings.Contains(w.Body.String(), `role="status"`) {
			t.Errorf("%q: %d\n%s", value, w.Code, w.Body)
		}
	}
	// A message in the address is none.
	if strings.Contains(get(h, "?note=hello").Body.String(), "hello</p>") {
		t.Error("anybody can make the dashboard say something")
	}
}

// The message is for the page that a person sees next, not for the script or for who asks for the head alone.
func TestHandler_note_waitsForAPerson(t *testing.T) {
	h := busyFake().serve(operator)
	cookie := post(h, "resume", "name", "carts").Result().Cookies()[0]
	for _, test := range []struct{ method, live string }{{"HEAD", ""}, {"GET", "1"}} {
		r := httptest.NewRequest(test.method, "/jobs/", nil)
		r.AddCookie(cookie)
		if test.live != "" {
			r.Header.Set(liveHeader, test.live)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if len(w.Result().Cookies()) > 0 || strings.Contains(w.Body.String(), "Resumed") {
			t.Errorf("%+v: takes the message away", test)
		}
		if vary := w.Header().Get("Vary"); !strings.Contains(vary, "Cookie") || !strings.Contains(vary, liveHeader) {
			t.Errorf("%+v: Vary is %q", test, vary)
		}
	}
}

// A connection that breaks while something is done does not leave it half done.
func TestHandler_actions_connectionBroken(t *testing.T) {
	f := busyFake()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, "POST", "/jobs/resume", strings.NewReader("name=carts"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	f.serve(operator).ServeHTTP(httptest.NewRecorder(), r)
	if len(f.done) != 1 {
		t.Errorf("did %q", f.done)
	}
}

// The log says who did what, and who was not let.
func TestHandler_logs(t *testing.T) {
	var log bytes.Buffer
	cfg := operator
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	for _, test := range []struct {
		role    Role
		refuses error
		want    []string
	}{
		{RoleOperator, nil, []string{"level=INFO", "action=resume", "target=carts", "user=ada"}},
		{RoleOperator, errDown, []string{"level=ERROR", "action=resume", "target=carts", "user=ada", "connection refused"}},
		{RoleViewer, nil, []string{"level=WARN", "refused", "page=resume", "user=bob", "method=POST", "remote=192.0.2.1"}},
	} {
		if test.role == RoleViewer {
			cfg.Authorize = as("bob", RoleViewer, nil).Authorize
		}
		log.Reset()
		f := busyFake()
		f.refuses = test.refuses
		post(newDashboard(f, f, cfg), "resume", "name", "carts")
		for _, want := range test.want {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%+v: the log does not say %s:\n%s", test, want, &log)
			}
		}
	}
}

// Who broke a lock is told also behind a long reason, which is cut at a character.
func TestHandler_breakLongReason(t *testing.T) {
	for _, reason := range []string{strings.Repeat("x", maxReason), strings.Repeat("漢", maxReason), "x" + strings.Repeat("漢", 400)} {
		f := busyFake()
		post(f.serve(operator), "break", "key", "job:index", "holder", "17", "reason", reason)
		if len(f.done) != 1 {
			t.Fatalf("did %q", f.done)
		}
		told := strings.TrimPrefix(f.done[0], "break job:index: ")
		if len(told) > maxTold || !utf8.ValidString(told) || !strings.HasSuffix(told, " (by ada)") ||
			!strings.HasPrefix(reason, strings.TrimSuffix(strings.TrimSuffix(told, " (by ada)"), "…")) {
			t.Errorf("%d bytes are told: %q", len(told), told)
		}
	}
}
