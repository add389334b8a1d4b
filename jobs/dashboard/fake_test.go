package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

var noon = time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)

// fake is a cluster that says what a test wants it to, and notes what is done to it.
type fake struct {
	mu       sync.Mutex // guards asked and done
	asked    map[string]int
	texts    map[string]string // by job
	done     []string
	statuses []jobs.Status
	nodes    []jobs.Node
	runs     []jobs.Run
	failures []jobs.Run
	waiting  []jobs.OneOff
	locks    []lockrt.LockInfo
	upcoming []jobs.Upcoming
	history  int   // records that are kept of each job, if not 100
	down     error // every question to the store fails
	refuses  error // every action fails
	unlocked error // every question about locks fails
	block    chan struct{}
	parted   []string // questions that a part of the store does not answer
}

var errPart = &jobs.PartsError{Parts: []int{3}, Of: 17, Err: errDown}

func (f *fake) ask(what string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked == nil {
		f.asked = map[string]int{}
	}
	f.asked[what]++
	if f.down == nil && slices.Contains(f.parted, what) {
		return fmt.Errorf("ask for %s: %w", what, errPart)
	}
	return f.down
}

func (f *fake) note(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuses == nil {
		f.done = append(f.done, fmt.Sprintf(format, args...))
	}
	return f.refuses
}

func (f *fake) count(what string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[what]
}

func (f *fake) Node() string   { return "node-1" }
func (f *fake) Err() error     { return nil }
func (f *fake) Now() time.Time { return noon }

func (f *fake) Namespace() string { return "shop" }

func (f *fake) ClusterJobs(_ context.Context, names ...string) (infos []jobs.Info, err error) {
	for _, st := range f.statuses {
		if len(names) == 0 || slices.Contains(names, st.Job.Name) {
			infos = append(infos, st.Info)
		}
	}
	if len(names) == 0 {
		f.ask("all")
	}
	return infos, f.ask("jobs")
}

// inState are the jobs in a state, by name.
func (f *fake) inState(state jobs.JobState) []jobs.Status {
	return where(f.statuses, func(st jobs.Status) bool {
		switch state {
		case jobs.StateRunning:
			return len(st.Running) > 0
		case jobs.StateFailing:
			return st.Last != nil && st.Last.Failed()
		case jobs.StatePaused:
			return st.Paused != nil
		case jobs.StateMissed:
			return st.Missed > 0
		case jobs.StateNever:
			return st.Last == nil
		case jobs.StateOrphaned:
			return st.Orphaned
		}
		return true
	})
}

// text is what a search looks into.
func (f *fake) text(st jobs.Status) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, ok := f.texts[st.Job.Name]
	if !ok {
		if f.texts == nil {
			f.texts = map[string]string{}
		}
		timing := jobs.Timing{Spec: st.Job.Spec, Zone: st.Job.TZ}
		text = jobs.SearchText(&jobs.Definition{Job: st.Job.Name, Program: st.Program, Timing: timing})
		f.texts[st.Job.Name] = text
	}
	return text
}

func (f *fake) JobPage(ctx context.Context, q jobs.JobQuery) (page jobs.JobPage, err error) {
	if err = f.ask("page"); err == nil && len(q.Search) > 200 {
		err = fmt.Errorf("list: %w", jobs.ErrSearch)
	}
	if f.block != nil {
		select {
		case <-f.block:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	all := f.inState(q.State)
	before := len(all)
	all = slices.DeleteFunc(all, func(st jobs.Status) bool {
		return q.From != "" && (q.Back && st.Job.Name >= q.From || !q.Back && st.Job.Name <= q.From)
	})
	if before -= len(all); q.Back {
		before = 0
	}
	words := strings.Fields(strings.ToLower(q.Search))
	all = slices.DeleteFunc(all, func(st jobs.Status) bool {
		return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(f.text(st), word) })
	})
	n := min(len(all), q.Limit)
	page.More = n < len(all)
	if q.Back {
		before += len(all) - n
		all = all[len(all)-n:]
	}
	if page.Jobs, page.Before = all[:n], before; len(words) > 0 {
		page.Before = -1
	}
	return page, err
}

func (f *fake) CountJobs(context.Context) (n jobs.JobCount, err error) {
	n.Jobs, n.Failing, n.Paused = len(f.statuses), len(f.inState(jobs.StateFailing)), len(f.inState(jobs.StatePaused))
	n.Missed, n.Never, n.Unseen = len(f.inState(jobs.StateMissed)), len(f.inState(jobs.StateNever)), len(f.inState(jobs.StateOrphaned))
	for _, st := range f.statuses {
		n.Ticks += st.Missed
	}
	return n, f.ask("count")
}

func (f *fake) LatestJobs(_ context.Context, limit int) (latest []jobs.LatestRecord, err error) {
	for _, st := range f.statuses {
		if st.Last != nil {
			latest = append(latest, jobs.LatestRecord{Job: st.Job.Name, At: st.Last.Ended})
		}
	}
	slices.SortStableFunc(latest, func(a, b jobs.LatestRecord) int { return b.At.Compare(a.At) })
	return latest[:min(limit, len(latest))], f.ask("latest")
}

func (f *fake) MostMissed(context.Context, int) ([]jobs.Status, error) {
	return f.inState(jobs.StateMissed), f.ask("missed")
}

func (f *fake) ClusterStatus(ctx context.Context, names ...string) ([]jobs.Status, error) {
	err := f.ask("status")
	if len(names) == 0 {
		f.ask("all")
	}
	if err != nil && !isPartial(err) || len(names) == 0 {
		return slices.Clone(f.statuses), err
	}
	for _, st := range f.statuses {
		if st.Job.Name == names[0] {
			return []jobs.Status{st}, err
		}
	}
	return nil, fmt.Errorf("status of %q: %w", names[0], jobs.ErrUnknownJob)
}

func (f *fake) Nodes(context.Context) ([]jobs.Node, error) { return f.nodes, f.ask("nodes") }
func (f *fake) Failures(context.Context, int) ([]jobs.Run, error) {
	return f.failures, f.ask("failures")
}
func (f *fake) Waiting(context.Context, int) ([]jobs.OneOff, error) {
	return f.waiting, f.ask("waiting")
}

func (f *fake) RunningRuns(context.Context) (running []jobs.Run, err error) {
	for _, st := range f.statuses {
		running = append(running, st.Running...)
	}
	return running, f.ask("running")
}

func (f *fake) History() int { return cmp.Or(f.history, 100) }

func (f *fake) RecentRuns(_ context.Context, perJob int, names ...string) ([][]jobs.Run, error) {
	all := make([][]jobs.Run, len(names))
	for i, job := range names {
		for _, r := range f.runs {
			if r.Job == job && len(all[i]) < perJob {
				all[i] = append(all[i], r)
			}
		}
	}
	return all, f.ask("runs")
}

func (f *fake) FindRun(ctx context.Context, id string) (jobs.Run, error) {
	if err := f.ask("run"); err != nil {
		return jobs.Run{}, err
	}
	running, _ := f.RunningRuns(ctx)
	for _, r := range slices.Concat(running, f.runs) {
		if r.ID == id {
			return r, nil
		}
	}
	return jobs.Run{}, jobs.ErrUnknownRun
}

func (f *fake) RunNow(_ context.Context, job, author string) (string, error) {
	return "r1", f.note("run %s by %s", job, author)
}
func (f *fake) RunAgain(_ context.Context, id, author string) (string, error) {
	return "index@1", f.note("run %s again by %s", id, author)
}
func (f *fake) Pause(_ context.Context, job, author, reason string) error {
	return f.note("pause %s by %s: %s", job, author, reason)
}
func (f *fake) Resume(ctx context.Context, job, author string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return f.note("resume %s by %s", job, author)
}
func (f *fake) Cancel(_ context.Context, id, author, reason string) error {
	return f.note("cancel %s by %s: %s", id, author, reason)
}
func (f *fake) Withdraw(_ context.Context, id string) error { return f.note("withdraw %s", id) }
func (f *fake) BreakSeen(_ context.Context, seen lockrt.LockInfo, reason string) error {
	return f.note("break %s: %s", seen.Key, reason)
}

func (f *fake) BreakLease(_ context.Context, key, id, reason string) error {
	return f.note("break %s of %s: %s", id, key, reason)
}

// ListPage has the index of the first lock as its cursor.
func (f *fake) ListPage(_ context.Context, prefix, cursor string, limit int) (page []lockrt.LockInfo, next string, err error) {
	at := 0
	if cursor != "" {
		if at, err = strconv.Atoi(cursor); err != nil {
			return nil, "", lockrt.ErrCursor
		}
	}
	for i := at; i < len(f.locks); i++ {
		if len(page) == limit {
			next = strconv.Itoa(i)
			break
		}
		if strings.HasPrefix(f.locks[i].Key, prefix) {
			page = append(page, f.locks[i])
		}
	}
	return page, next, cmp.Or(f.ask("locks"), f.unlocked)
}

func (f *fake) Holder(_ context.Context, key string) (lockrt.LockInfo, error) {
	if err := cmp.Or(f.ask("holder"), f.unlocked); err != nil {
		return lockrt.LockInfo{}, err
	}
	for _, l := range f.locks {
		if l.Key == key {
			return l, nil
		}
	}
	return lockrt.LockInfo{}, lockrt.ErrNotHeld
}

func nothing(context.Context) error { return nil }

// busyFake is a cluster in which there is something of everything.
func busyFake() *fake {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	run := func(job, id string, tick, took time.Duration, o jobs.Outcome) jobs.Run {
		r := jobs.Run{ID: id, Job: job, Tick: ago(tick), Claimed: ago(tick), Started: ago(tick), Node: "node-2", Outcome: o,
			Attempt: 1, Trigger: jobs.TriggerSchedule, Fence: 17}
		if o != "" {
			r.Ended = r.Started.Add(took)
		}
		return r
	}
	job := func(name, spec, tz string) jobs.Status {
		j := jobs.Job{Name: name, Spec: spec, TZ: tz, Run: nothing, Keys: []string{"job:" + name}, Misfire: jobs.MisfireOnce,
			Overlap: jobs.OverlapSkip, Grace: 10 * time.Second, Lock: lockrt.Options{TTL: 30 * time.Second}}
		zone, err := time.LoadLocation(tz)
		if err != nil {
			panic(err)
		}
		return jobs.Status{Info: jobs.Info{Job: j, Zone: zone}, Next: noon.Add(time.Hour)}
	}
	f := &fake{
		nodes: []jobs.Node{
			{Name: "node-1", Started: ago(5 * time.Hour), Heartbeat: ago(time.Second), ClockOffset: 300 * time.Microsecond,
				Jobs: 4},
			{Name: "node-2", Started: ago(5 * time.Hour), Heartbeat: ago(time.Second), ClockOffset: -31 * time.Second, Jobs: 4,
				Running: 1},
			{Name: "node-3", Started: ago(2 * time.Hour), Heartbeat: ago(time.Minute), Jobs: 4},
			{Name: "node-4", Started: ago(2 * time.Hour), Heartbeat: ago(time.Second), Jobs: 4, Draining: true},
		},
		locks: []lockrt.LockInfo{
			{Key: "job:index", Node: "node-2", ID: "x", Fence: 17, Since: ago(90 * time.Second), Remaining: 21 * time.Second,
				Waiters: []lockrt.Waiter{{Node: "node-1"}, {Node: "node-3"}, {Node: "node-1"}, {Node: "node-4"}}},
			{Key: "order:42", Fence: 9, Since: ago(time.Second), Remaining: time.Second},
		},
		upcoming: []jobs.Upcoming{{Tick: noon.Add(13 * time.Hour), DST: "skipped"},
			{Tick: noon.Add(37 * time.Hour), DST: "repeated"}},
		waiting: []jobs.OneOff{{ID: "welcome-42", Handler: "mail", At: noon.Add(time.Minute),
			Payload: []byte(`{"to":"a@example.com"}`)}},
	}
	index, report, carts, foreign := job("index", "*/5 * * * *", ""), job("report", "30 2 * * *", "Europe/Vienna"),
		job("carts", "@hourly", ""), jobs.Status{}
	index.Running = []jobs.Run{run("index", "index@1", 90*time.Second, 0, "")}
	failure := run("report", "report@7", 9*time.Hour, 4*time.Second, jobs.OutcomeError)
	failure.Error, failure.Reason = "dial tcp: connection refused\nsecond line", "attempt 1 of 1"
	report.Last, report.Missed = &failure, 3
	carts.Paused = &jobs.Pause{Author: "ada", Reason: "the shop is closed", At: ago(time.Hour)}
	carts.Next = time.Time{}
	foreign.Job.Name, foreign.Orphaned = "foreign", true
	f.statuses = []jobs.Status{carts, foreign, index, report}
	f.failures = []jobs.Run{failure}
	asked := &jobs.Notice{Author: "bob", Reason: "it disturbs", At: ago(9 * time.Hour)}
	f.runs = []jobs.Run{failure, run("report", "report@6", 33*time.Hour, 2*time.Second, jobs.OutcomeOK),
		{ID: "report@5", Job: "report", Tick: ago(57 * time.Hour), Ticks: 61, First: ago(58 * time.Hour),
			Claimed: ago(57 * time.Hour),
			Outcome: jobs.OutcomeSkipped, Reason: "lock \"job:report\" is held by node-3"}}
	f.runs[1].CancelAsked = asked
	return f
}

var operator = Config{Authorize: func(*http.Request) (User, error) { return User{"ada", RoleOperator}, nil }}

// serve is the handler over f, silent.
func (f *fake) serve(cfg Config) http.Handler {
	cfg.Logger = slog.New(slog.DiscardHandler)
	d := newDashboard(f, f, cfg)
	d.upcoming = func(jobs.Info, time.Time, int) []jobs.Upcoming { return f.upcoming }
	return d
}

func get(h http.Handler, address string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/jobs/"+address, nil))
	return w
}

func post(h http.Handler, page string, form ...string) *httptest.ResponseRecorder {
	values := url.Values{}
	for i := 0; i < len(form); i += 2 {
		values.Set(form[i], form[i+1])
	}
	r := httptest.NewRequest("POST", "/jobs/"+page, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// expect fails the test unless the answer has the status and every text.
func expect(t *testing.T, w *httptest.ResponseRecorder, status int, texts ...string) {
	t.Helper()
	if w.Code != status {
		t.Errorf("status %d, want %d", w.Code, status)
	}
	body := strings.ReplaceAll(w.Body.String(), "<wbr>", "") // where names may be broken
	for _, text := range texts {
		if !strings.Contains(body, text) {
			t.Errorf("does not say %q", text)
		}
	}
	if t.Failed() {
		t.Fatalf("the answer was:\n%s", w.Body)
	}
}

var errDown = errors.New("dial tcp 127.0.0.1:6379: connection refused")
