package dashboard

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// scheduler is what the dashboard uses of a [jobs.Scheduler].
type scheduler interface {
	Err() error
	Now() time.Time
	ClusterJobs(ctx context.Context, jobs ...string) ([]jobs.Info, error)
	ClusterStatus(ctx context.Context, jobs ...string) ([]jobs.Status, error)
	JobPage(ctx context.Context, q jobs.JobQuery) (jobs.JobPage, error)
	CountJobs(ctx context.Context) (jobs.JobCount, error)
	LatestJobs(ctx context.Context, limit int) ([]jobs.LatestRecord, error)
	MostMissed(ctx context.Context, limit int) ([]jobs.Status, error)
	Nodes(ctx context.Context) ([]jobs.Node, error)
	RunningRuns(ctx context.Context) ([]jobs.Run, error)
	Failures(ctx context.Context, limit int) ([]jobs.Run, error)
	History() int
	RecentRuns(ctx context.Context, perJob int, jobs ...string) ([][]jobs.Run, error)
	FindRun(ctx context.Context, runID string) (jobs.Run, error)
	Waiting(ctx context.Context, limit int) ([]jobs.OneOff, error)

	RunNow(ctx context.Context, job, author string) (runID string, err error)
	RunAgain(ctx context.Context, runID, author string) (newID string, err error)
	Pause(ctx context.Context, job, author, reason string) error
	Resume(ctx context.Context, job, author string) error
	Cancel(ctx context.Context, runID, author, reason string) error
	Withdraw(ctx context.Context, id string) error
}

// locker is what the dashboard uses of a [lockrt.Locker].
type locker interface {
	Node() string
	Namespace() string
	ListPage(ctx context.Context, prefix, cursor string, limit int) (page []lockrt.LockInfo, next string, err error)
	Holder(ctx context.Context, key string) (lockrt.LockInfo, error)
	BreakSeen(ctx context.Context, seen lockrt.LockInfo, reason string) error
	BreakLease(ctx context.Context, key, id, reason string) error
}

// storeTimeout is how long a page waits for the store.
const storeTimeout = 5 * time.Second

type dashboard struct {
	jobs  scheduler
	locks locker
	cfg   Config
	cross *http.CrossOriginProtection
	known known // of the store of the jobs
	held  known // of the store of the locks, which may be another
	plans plans
	names names
	// upcoming returns the next ticks of a job.
	upcoming func(info jobs.Info, after time.Time, n int) []jobs.Upcoming

	routes map[string]route
}

// Handler returns the dashboard for the cluster that s belongs to; s need not be running. It can be served under any
// path that ends in a slash, with or without http.StripPrefix and proxies in front, since its pages lie side by side
// and link to each other by their last path element only. Mounted by a pattern that ends in a path without a slash, such as
// "/jobs" or "GET /jobs", it leads to the path with one. So a single page can be mounted by its own path for POST only, such
// as "POST /jobs/pause" beside "GET /jobs/".
//
// It starts no goroutine that outlives a request, but for calls that a store does not end with their context. It panics if
// cfg.TrustedOrigins has an entry that is not an origin.
func Handler(s *jobs.Scheduler, cfg Config) http.Handler {
	if s == nil {
		panic("dashboard.Handler: it needs a Scheduler, from jobs.New")
	}
	return newDashboard(s, s.Locker(), cfg)
}

func newDashboard(s scheduler, l locker, cfg Config) *dashboard {
	l = boundedLocks{l, new(atomic.Int64)}
	d := &dashboard{jobs: s, locks: l, cfg: cfg.withDefaults(), cross: http.NewCrossOriginProtection(),
		upcoming: jobs.Info.Upcoming, routes: newRoutes()}
	d.known.now = func() time.Time { return s.Now().UTC() }
	d.held.now = d.known.now
	d.known.fault = func(fault error) {
		d.cfg.Logger.LogAttrs(context.Background(), slog.LevelError, "dashboard question failed", slog.Any("error", fault))
	}
	d.held.fault = d.known.fault
	d.held.probe = func(ctx context.Context) error {
		_, err := l.Holder(ctx, "alive") // that nobody holds it is an answer
		return err
	}
	d.known.probe = func(ctx context.Context) error {
		if _, err := s.Nodes(ctx); !isPartial(err) {
			return err
		}
		return nil // the rest of the store answers
	}
	for _, origin := range cfg.TrustedOrigins {
		said, err := asBrowsersSay(origin)
		if err == nil {
			err = d.cross.AddTrustedOrigin(said)
		}
		if err != nil {
			panic(fmt.Sprintf("dashboard.Handler: Config.TrustedOrigins has %q: %v; write such as https://ops.example.com", origin, err))
		}
	}
	return d
}

// route is one page.
type route struct {
	get  func(*request) (*view, error)
	post func(*request) (*view, error) // nil: the page only shows
	act  bool                          // operators only
}

// newRoutes returns the pages by the last element of their address.
func newRoutes() map[string]route {
	return map[string]route{
		"":         {get: (*request).overview},
		"jobs":     {get: (*request).jobList},
		"job":      {get: (*request).job},
		"run":      {get: (*request).run},
		"runs":     {get: (*request).runsPage},
		"locks":    {get: (*request).lockList},
		"one-off":  {get: (*request).oneOffList},
		"theme":    {post: (*request).setTheme},
		"run-now":  {get: confirm(runNow), post: perform(runNow), act: true},
		"again":    {get: confirm(runAgain), post: perform(runAgain), act: true},
		"pause":    {get: confirm(pause), post: perform(pause), act: true},
		"resume":   {get: confirm(resume), post: perform(resume), act: true},
		"cancel":   {get: confirm(cancel), post: perform(cancel), act: true},
		"withdraw": {get: confirm(withdraw), post: perform(withdraw), act: true},
		"break":    {get: confirm(breakLock), post: perform(breakLock), act: true},
	}
}

// ServeHTTP implements http.Handler.
func (d *dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	name, ok := pageName(r)
	if asset, ok := assets[name]; ok {
		asset.serve(w, r)
		return
	}
	q := &request{d: d, w: w, r: r, ctx: r.Context(), name: name, zone: readerZone(r)}
	q.asOfPresent()
	defer func() {
		if q.end != nil {
			q.end()
		}
	}()
	var v *view
	err := caught(func() (err error) { v, err = q.serve(ok); return err })
	abort(err)
	if err != nil {
		v = q.failed(err)
	}
	if v != nil {
		q.render(v)
	}
}

// begin gives the page its time, from now on.
func (q *request) begin() {
	ends := time.Now().Add(storeTimeout)
	q.ctx, q.end = context.WithDeadline(context.WithValue(q.r.Context(), pageEnd{}, ends), ends)
	q.r = q.r.WithContext(q.ctx)
	q.asOfPresent()
}

func (q *request) asOfPresent() {
	q.asked, q.now = time.Now(), q.d.jobs.Now().UTC()
	q.made = q.now
}

// maxAddress is more than the longest key of a lock needs. A page repeats its address in many links.
const maxAddress = 16 << 10

// serve finds the page and checks who asks for it. The view is nil if the request was answered. If the pages are not
// here, the name is where they are.
func (q *request) serve(here bool) (*view, error) {
	rt, ok := q.d.routes[q.name]
	if err := q.mayEnter(rt.act); err != nil {
		return nil, err
	}
	q.begin()
	if len(q.r.RequestURI) > maxAddress || len(q.r.URL.RawQuery) > maxAddress {
		q.r.URL.RawQuery = ""
		return nil, &problem{Status: http.StatusRequestURITooLong, Title: "The address is too long",
			Text: fmt.Sprintf("It has more than %d bytes, and no page here needs so many.", maxAddress)}
	}
	if !here {
		if q.r.URL.RawQuery != "" {
			q.name += "?" + q.r.URL.RawQuery
		}
		redirect(q.w, http.StatusPermanentRedirect, q.name)
		return nil, nil
	}
	if !ok {
		return nil, &problem{Status: http.StatusNotFound, Title: "No such page",
			Text:   "There is no page " + quote(q.name) + " here.",
			Advice: "Choose one from the menu. If the dashboard itself is served at this address, put a slash behind it."}
	}
	serve := rt.get
	switch q.r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPost:
		serve = rt.post
	default:
		serve = nil
	}
	if serve == nil {
		q.w.Header().Set("Allow", rt.methods())
		return nil, &problem{Status: http.StatusMethodNotAllowed, Title: "Not possible here",
			Text: "This page does not answer " + q.r.Method + "."}
	}
	if err := q.d.sameOrigin(q.r); err != nil {
		return nil, q.refuseOrigin(err)
	}
	return serve(q)
}

func (rt route) methods() string {
	switch {
	case rt.post == nil:
		return "GET, HEAD"
	case rt.get == nil:
		return "POST"
	}
	return "GET, HEAD, POST"
}
