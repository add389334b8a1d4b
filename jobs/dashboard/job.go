package dashboard

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// ticksAhead is how many ticks to come a job's page shows.
const ticksAhead = 10

type jobData struct {
	Job      jobRow
	Known    bool   // the job's definition is
	OneOff   string // the handler, if it is one of one-off jobs
	Policies []fact
	Locks    []lockRow
	Ticks    []tickRow
	Zone     string
	Running  []runRow
	Charts   []*chart
	Timeline template.HTML
	List     runList
}

type fact struct{ Name, Value, Note string }

type tickRow struct {
	At      moment
	Warning string // about daylight saving
}

// jobState is what the store says of one job.
type jobState struct {
	status jobs.Status
	runs   []jobs.Run
	nodes  []jobs.Node
}

func (q *request) jobState(name string, depth int) (*jobState, error) {
	question := fmt.Sprintf("job\x00%d\x00%s", depth, name)
	return ask(q, "job "+quote(name), question, func(ctx context.Context) (*jobState, error) {
		j := &jobState{}
		err := inParallel(
			func() (err error) { j.status, err = q.statusOf(ctx, name); return err },
			func() (err error) { j.nodes, err = q.d.jobs.Nodes(ctx); return err },
			func() error {
				runs, err := q.d.jobs.RecentRuns(ctx, depth, name)
				if err == nil || isPartial(err) {
					j.runs = runs[0]
				}
				return err
			},
		)
		return j, err
	})
}

func (q *request) job() (*view, error) {
	name := q.r.URL.Query().Get("name")
	v := &view{template: "job", Title: name, Menu: "jobs", Live: true}
	filter := q.runFilter()
	j, err := q.jobState(name, filter.depth())
	if err != nil {
		return nil, q.missingOr(err, "job "+quote(name))
	}
	st := j.status
	held := q.holders(keysOf(&st.Job))
	data := jobData{Job: q.jobRow(st), Known: defined(st.Info), Running: q.runRows(st.Running)}
	if handler, once := strings.CutPrefix(name, handlerPrefix); once {
		v.Menu, data.OneOff = "one-off", handler
	}
	if data.Known {
		data.Policies, data.Zone = policies(st.Job), q.d.plans.of(st.Info).zone.String()
		data.Locks = q.jobLocks(keysOf(&st.Job), held)
		data.Ticks = q.ticks(st)
	}
	data.List = q.runList(filter, j.runs, false)
	if from := oldest(j.runs); !from.IsZero() {
		data.Charts = q.chartsOf(j.runs, from)
	}
	if c := durationChart(j.runs); c != nil {
		data.Charts = append(data.Charts, c)
	}
	data.Timeline = q.timeline(timelineOf{
		runs: j.runs, running: st.Running, nodes: j.nodes, only: st.Nodes, most: timelineRuns,
		zone: q.d.plans.of(st.Info).zone,
	})
	v.Data = data
	return v, nil
}

// status asks for the present state of a job, to act on it. A handler of one-off jobs is none.
func (q *request) status(name string) (jobs.Status, error) {
	if strings.HasPrefix(name, handlerPrefix) {
		return jobs.Status{}, jobs.ErrUnknownJob
	}
	st, err := q.statusOf(q.ctx, name)
	if isPartial(err) {
		err = nil // other parts than that with the job
	}
	return st, err
}

func (q *request) statusOf(ctx context.Context, name string) (jobs.Status, error) {
	if name == "" {
		return jobs.Status{}, jobs.ErrUnknownJob
	}
	statuses, err := q.d.jobs.ClusterStatus(ctx, name)
	switch {
	case errors.Is(err, jobs.ErrUnknownJob) && strings.HasPrefix(name, handlerPrefix): // its records may be left
		return jobs.Status{Info: jobs.Info{Job: jobs.Job{Name: name}, Handler: true}}, nil
	case err != nil && !isPartial(err):
		return jobs.Status{}, err
	case len(statuses) == 0:
		return jobs.Status{}, jobs.ErrUnknownJob
	}
	return statuses[0], err
}

// missingOr tells what does not exist from a store that does not answer.
func (q *request) missingOr(err error, what string) error {
	switch {
	case errors.As(err, new(*silence)), errors.As(err, new(*crash)):
		return err
	case isAnswer(err):
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

// defined reports whether a job's definition is known: where only its cursor, a pause or a run is left, it is not.
func defined(info jobs.Info) bool {
	return !info.Handler && (info.Job.Spec != "" || info.Job.Schedule != nil || len(info.Nodes) > 0)
}

func (q *request) ticks(st jobs.Status) []tickRow {
	var rows []tickRow
	for _, u := range q.d.upcoming(st.Info, q.now, ticksAhead) {
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
		return "clocks go back: the time comes twice that day; a job of a fixed hour runs the first time, one of every hour both times"
	}
	return kind
}

// jobLocks shows each lock of a job with who holds it.
func (q *request) jobLocks(keys []string, held map[string]lockrt.LockInfo) []lockRow {
	var rows []lockRow
	for _, key := range keys {
		info, known := held[key]
		switch {
		case !known:
			rows = append(rows, lockRow{Key: key, Unknown: true})
		case info.Key == "":
			rows = append(rows, lockRow{Key: key, Free: true})
		default:
			rows = append(rows, q.lockRow(info))
		}
	}
	return rows
}
