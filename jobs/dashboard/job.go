package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	ticksAhead = 10
	runsShown  = 100
)

type jobData struct {
	Job      jobRow
	Known    bool   // this node has the job
	Once     string // the handler, if it is one of one-off jobs
	Policies []fact
	Locks    []lockRow
	Ticks    []tickRow
	Zone     string
	Running  []runRow
	Runs     []runRow
	Chart    *chart
}

type fact struct{ Name, Value, Note string }

type tickRow struct {
	At      moment
	Warning string // about daylight saving
}

func (q *request) job() (*view, error) {
	name := q.r.URL.Query().Get("name")
	v := &view{template: "job", Title: name, Menu: "jobs", Live: true}
	st, err := q.status(name)
	if err != nil {
		return nil, q.missingOr(err, "the state of job "+quote(name))
	}
	data := jobData{Job: q.jobRow(st), Known: st.Job.Run != nil, Running: q.runRows(st.Running)}
	if handler, once := strings.CutPrefix(name, onceJob); once {
		v.Menu, data.Once = "once", handler
	}
	if data.Known {
		data.Policies, data.Zone = policies(st.Job), q.d.plans.of(st.Info).zone.String()
		data.Locks = q.jobLocks(st.Job)
		data.Ticks = q.ticks(st)
	}
	runs, err := q.d.jobs.Runs(q.ctx, name, runsShown)
	if err != nil {
		v.Problems = append(v.Problems, q.storeProblem("the runs of job "+quote(name), err))
	}
	data.Runs, data.Chart = q.runRows(runs), chartOf(runs)
	v.Data = data
	return v, nil
}

func (q *request) status(name string) (jobs.Status, error) {
	switch {
	case name == "":
		return jobs.Status{}, jobs.ErrUnknownJob
	case strings.HasPrefix(name, onceJob): // has runs and nothing else
		return jobs.Status{Info: jobs.Info{Job: jobs.Job{Name: name}}}, nil
	}
	statuses, err := q.d.jobs.Status(q.ctx, name)
	if err == nil && len(statuses) == 0 {
		err = jobs.ErrUnknownJob
	}
	if err != nil {
		return jobs.Status{}, err
	}
	return statuses[0], nil
}

// missingOr tells what does not exist from a store that does not answer.
func (q *request) missingOr(err error, what string) error {
	if errors.Is(err, jobs.ErrUnknownJob) || errors.Is(err, jobs.ErrUnknownRun) {
		p := q.problemOf("find", what, err)
		p.Title, p.Detail, p.Status = "Not found", "", http.StatusNotFound
		return p
	}
	return q.storeProblem(what, err)
}

func policies(j jobs.Job) []fact {
	facts := []fact{
		{"Missed ticks", string(j.Misfire), misfireNote(j)},
		{"While it runs", string(j.Overlap), overlapNotes[j.Overlap]},
		{"Retries", "none", ""},
		{"Timeout", "none", ""},
		{"Lease of the lock", duration(j.Lock.TTL), "renewed while it runs"},
	}
	if j.Retries > 0 {
		facts[2] = fact{"Retries", number(j.Retries), "after an error, and after the death of its node"}
	}
	if j.Timeout > 0 {
		facts[3].Value = duration(j.Timeout)
	}
	if j.Jitter > 0 {
		facts = append(facts, fact{"Jitter", "up to " + duration(j.Jitter), "the same on all nodes"})
	}
	return facts
}

func misfireNote(j jobs.Job) string {
	late := "ticks that are more than " + duration(j.Grace) + " late "
	switch j.Misfire {
	case jobs.MisfireSkip:
		return late + "are recorded and not run"
	case jobs.MisfireAll:
		return late + fmt.Sprintf("are all run, the newest %d at most", j.MisfireCap)
	}
	return late + "are run once in place of all"
}

var overlapNotes = map[jobs.Overlap]string{
	jobs.OverlapSkip:    "the next tick is recorded and not run",
	jobs.OverlapQueue:   "the next tick waits",
	jobs.OverlapReplace: "the next tick cancels it and takes its place",
	jobs.OverlapAllow:   "the next tick runs beside it",
}

func (q *request) ticks(st jobs.Status) []tickRow {
	upcoming, err := q.d.jobs.Upcoming(st.Job.Name, ticksAhead)
	if err != nil {
		return nil
	}
	rows := make([]tickRow, 0, len(upcoming))
	for _, u := range upcoming {
		rows = append(rows, tickRow{At: q.momentIn(u.Tick, q.d.plans.of(st.Info).zone), Warning: dstWarning(u.DST)})
	}
	return rows
}

func dstWarning(kind string) string {
	switch kind {
	case "":
		return ""
	case "skipped":
		return "clocks go forward: the time does not exist that day, so it runs right after the gap"
	case "repeated":
		return "clocks go back: the time comes twice that day, and it runs the first time"
	}
	return kind
}

// jobLocks shows each lock of a job with who holds it now.
func (q *request) jobLocks(j jobs.Job) []lockRow {
	var rows []lockRow
	for _, key := range j.Keys {
		info, err := q.d.locks.Holder(q.ctx, key)
		switch {
		case err == nil:
			rows = append(rows, q.lockRow(info))
		case errors.Is(err, lockrt.ErrNotHeld):
			rows = append(rows, lockRow{Key: key, Free: true})
		default:
			rows = append(rows, lockRow{Key: key, Unknown: firstLine(q.text("error", err.Error()))})
		}
	}
	return rows
}

type runData struct {
	Run           runRow
	Times         []timeRow
	Reason, Error string
	Once, Payload string
	HasPayload    bool
	Lateness      string
}

// timeRow is a moment in the life of a run.
type timeRow struct {
	Name  string
	At    moment
	Since string // after the tick
}

func (q *request) run() (*view, error) {
	id := q.r.URL.Query().Get("id")
	if id == "" {
		return nil, q.missingOr(jobs.ErrUnknownRun, "a run without an id")
	}
	r, err := q.d.jobs.FindRun(q.ctx, id)
	if err != nil {
		return nil, q.missingOr(err, "run "+quote(id))
	}
	data := runData{
		Run: q.runRow(r), Reason: q.text("reason", r.Reason), Error: q.text("error", r.Error),
		Once: r.Once, HasPayload: len(r.Payload) > 0, Payload: q.payload(r.Payload),
	}
	data.Times = q.times(r)
	return &view{template: "run", Title: "Run of " + r.Job, Menu: "jobs", Live: r.Outcome == "", Data: data}, nil
}

// times are the moments in the life of a run. Of one that stands for several ticks there is the first of them, too.
func (q *request) times(r jobs.Run) []timeRow {
	rows := []timeRow{{Name: "scheduled", At: q.moment(r.Tick)}}
	if r.Ticks > 1 {
		rows = []timeRow{{Name: "first of " + number(int(r.Ticks)) + " ticks", At: q.moment(r.First)},
			{Name: "last tick", At: q.moment(r.Tick)}}
	}
	for _, t := range []struct {
		name string
		at   time.Time
	}{{"claimed", r.Claimed}, {"started", r.Started}, {"ended", r.Ended}} {
		row := timeRow{Name: t.name, At: q.moment(t.at)}
		if !t.at.IsZero() {
			row.Since = duration(max(0, t.at.Sub(r.Tick)))
		}
		rows = append(rows, row)
	}
	return rows
}
