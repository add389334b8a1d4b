package dashboard

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// gated is a cluster that runs a job only when it is let.
type gated struct {
	*fake
	gate chan struct{}
}

func (g gated) RunNow(ctx context.Context, job, author string) (string, error) {
	<-g.gate
	g.mu.Lock()
	n := len(g.done)
	g.mu.Unlock()
	_, err := g.fake.RunNow(ctx, job, author)
	return fmt.Sprintf("r%d", n+1), err
}

// TestOnce_doubleClick: the browser gives up on the first request, and shows the answer of the second.
func TestOnce_doubleClick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gated{busyFake(), make(chan struct{})}
		h := newDashboard(g, g, operator)
		form := url.Values{"name": {"index"}, onceField: {"abc"}}.Encode()
		send := func(ctx context.Context) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(ctx, "POST", "/jobs/run-now", strings.NewReader(form))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			go h.ServeHTTP(w, r)
			synctest.Wait()
			return w
		}
		ctx, cancel := context.WithCancel(t.Context())
		send(ctx)
		second := send(t.Context())
		cancel()
		close(g.gate)
		synctest.Wait()
		if len(g.done) != 1 {
			t.Errorf("did %q", g.done)
		}
		if second.Code != 303 || second.Header().Get("Location") != "job?name=index" {
			t.Errorf("the second is answered with %d, to %q", second.Code, second.Header().Get("Location"))
		}
		expect(t, follow(h, second), 200, "as run r1.", "It was done once.")
	})
}

// TestOnce_endlessAction: who sends a form again waits as long as for any answer of the store.
func TestOnce_endlessAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gated{busyFake(), make(chan struct{})}
		h := newDashboard(g, g, operator)
		go post(h, "run-now", "name", "index", onceField, "a")
		synctest.Wait()
		began := time.Now()
		w := post(h, "run-now", "name", "index", onceField, "a")
		if waited := time.Since(began); waited != storeTimeout {
			t.Errorf("waited %v", waited)
		}
		close(g.gate)
		expect(t, w, 503, "it may have happened or not")
	})
}

// with adds fields to a form.
func with(form []string, more ...string) []string {
	return append(append([]string(nil), form...), more...)
}

// TestOnce_actions does each of them twice: once for each token, and for each form that has none.
func TestOnce_actions(t *testing.T) {
	for _, action := range actions {
		for name, test := range map[string]struct {
			tokens []string
			times  int
		}{
			"one token":   {[]string{"a", "a", "a"}, 1},
			"two tokens":  {[]string{"a", "b", "a"}, 2},
			"no token":    {[]string{"", ""}, 2},
			"now without": {[]string{"a", "", "a"}, 2},
		} {
			f := busyFake()
			h := f.serve(operator)
			leads := map[string]bool{}
			for _, token := range test.tokens {
				form := action[1:]
				if token != "" {
					form = with(form, onceField, token)
				}
				w := post(h, action[0], form...)
				if w.Code != 303 {
					t.Fatalf("%s, %s: %d\n%s", action[0], name, w.Code, w.Body)
				}
				leads[w.Header().Get("Location")] = true
			}
			if len(f.done) != test.times || len(leads) != 1 {
				t.Errorf("%s, %s: did %q, leads to %v", action[0], name, f.done, leads)
			}
		}
	}
}

// A token is one form's: what another user sends, or what says something else, is done.
func TestOnce_otherForms(t *testing.T) {
	f := busyFake()
	user := "ada"
	h := f.serve(Config{Authorize: func(*http.Request) (User, error) { return User{user, RoleOperator}, nil }})
	post(h, "pause", "name", "index", "reason", "why", onceField, "a")
	post(h, "pause", "name", "index", "reason", "better", onceField, "a")
	post(h, "pause", "name", "report", "reason", "why", onceField, "a")
	post(h, "resume", "name", "index", onceField, "a")
	user = "bob"
	post(h, "pause", "name", "index", "reason", "why", onceField, "a")
	if len(f.done) != 5 {
		t.Errorf("did %q", f.done)
	}
}

var tokenField = regexp.MustCompile(`<input type="hidden" name="` + onceField + `" value="([^"]*)">`)

// tokenOf is the token of the form in a page.
func tokenOf(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	found := tokenField.FindStringSubmatch(w.Body.String())
	if found == nil {
		t.Fatalf("the form has no token:\n%s", w.Body)
	}
	return html.UnescapeString(found[1])
}

// Each form has a token of its own, that of an answer too.
func TestOnce_tokens(t *testing.T) {
	h := busyFake().serve(operator)
	seen := map[string]bool{}
	for range 2 {
		for _, page := range actionPages {
			seen[tokenOf(t, get(h, page))] = true
		}
		seen[tokenOf(t, post(h, "pause", "name", "index"))] = true
	}
	if len(seen) != 2*(len(actionPages)+1) {
		t.Errorf("%d forms have %d tokens", 2*(len(actionPages)+1), len(seen))
	}
	for token := range seen {
		if len(token) < 20 {
			t.Errorf("%q can be guessed, and met again", token)
		}
	}
}

// An action that failed is not tried again by the same form. The answer has a new one.
func TestOnce_failure(t *testing.T) {
	for _, action := range actions {
		f := busyFake()
		h := f.serve(operator)
		f.refuses = errDown
		form := with(action[1:], onceField, "a")
		expect(t, post(h, action[0], form...), 503, "Could not")
		f.refuses = nil
		w := post(h, action[0], form...)
		expect(t, w, 503, "Could not", "connection refused", "It was tried once.")
		if len(f.done) > 0 {
			t.Errorf("did %q", f.done)
		}
		if w = post(h, action[0], with(action[1:], onceField, tokenOf(t, w))...); w.Code != 303 || len(f.done) != 1 {
			t.Errorf("%s: the form of the answer: %d, did %q", action[0], w.Code, f.done)
		}
	}
}

// A form that lacks something is not done with.
func TestOnce_missingReason(t *testing.T) {
	f := busyFake()
	h := f.serve(operator)
	for range 2 {
		w := post(h, "pause", "name", "index", onceField, "a")
		expect(t, w, 422, "A reason is missing")
		if strings.Contains(w.Body.String(), "once.") {
			t.Error("says that it was tried")
		}
	}
}

// panicking is a cluster whose store panics.
type panicking struct{ gated }

func (p panicking) RunNow(ctx context.Context, job, author string) (string, error) {
	<-p.gate
	panic(errors.New("broken store"))
}

// TestOnce_panic: nobody waits for an action that has panicked.
func TestOnce_panic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := panicking{gated{busyFake(), make(chan struct{})}}
		h := newDashboard(p, p, operator)
		go func() {
			defer func() { _ = recover() }()
			post(h, "run-now", "name", "index", onceField, "a")
		}()
		synctest.Wait()
		var second *httptest.ResponseRecorder
		go func() { second = post(h, "run-now", "name", "index", onceField, "a") }()
		synctest.Wait()
		began := time.Now()
		close(p.gate)
		synctest.Wait()
		if second == nil || time.Since(began) > 0 {
			t.Fatal("the second waits")
		}
		expect(t, second, 503, "it may have happened or not")
	})
}

// TestOnce_bounds: what is remembered is bounded by number and age.
func TestOnce_bounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sentForms{}
		tries := 0
		send := func(token string) {
			_, _ = s.do(t.Context(), "ada", url.Values{onceField: {token}}, func() outcome { tries++; return outcome{} })
		}
		for i := range maxSent + 1 {
			send(fmt.Sprint(i))
		}
		if len(s.forms) != maxSent || len(s.order) != maxSent {
			t.Errorf("remembers %d forms, in an order of %d", len(s.forms), len(s.order))
		}
		send("1") // the oldest that is left
		if tries != maxSent+1 {
			t.Errorf("done %d times, want %d", tries, maxSent+1)
		}
		time.Sleep(sentFor - 1)
		if send("1"); tries != maxSent+1 {
			t.Error("forgotten too soon")
		}
		time.Sleep(1)
		if send("1"); tries != maxSent+2 || len(s.forms) != 1 || len(s.order) != 1 {
			t.Errorf("remembers %d forms, in an order of %d, after their time", len(s.forms), len(s.order))
		}
	})
}
