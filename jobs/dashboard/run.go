package dashboard

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

type runData struct {
	Attempts        []runRow // of the same tick, this one among them; nil if it is the only one
	Run             runRow
	Times           []timeRow
	Reason, Error   string
	OneOff, Payload string
	HasPayload      bool
	CancelAsked     string // by whom and when; empty: by nobody
}

// timeRow is a moment in the life of a run.
type timeRow struct {
	Name  string
	At    moment
	Since string // after the tick
}

// attemptsDepth is how many records of a job are searched for other attempts of a tick.
const attemptsDepth = 200

// runState is what the store says of a run, and of those of the same tick.
type runState struct {
	run      jobs.Run
	attempts []jobs.Run
}

func (q *request) run() (*view, error) {
	id := q.r.URL.Query().Get("id")
	if id == "" {
		return nil, q.missingOr(jobs.ErrUnknownRun, "a run without an id")
	}
	s, err := ask(q, "run "+quote(id), "run\x00"+id, func(ctx context.Context) (s runState, err error) {
		if s.run, err = q.d.jobs.FindRun(ctx, id); err == nil {
			s.attempts, err = q.attempts(ctx, s.run)
		}
		return s, err
	})
	if err != nil {
		return nil, q.missingOr(err, "run "+quote(id))
	}
	r := s.run
	data := runData{
		Run: q.runRow(r), Reason: q.text("reason", r.Reason), Error: q.text("error", r.Error),
		OneOff: r.OneOff, HasPayload: len(r.Payload) > 0, Payload: q.payload(r.Payload),
	}
	if len(s.attempts) > 1 {
		data.Attempts = q.runRows(s.attempts)
	}
	if n := r.CancelAsked; n != nil {
		data.CancelAsked = joined("by "+n.Author+" at "+q.moment(n.At).Stamp+" UTC", q.text("reason", n.Reason))
	}
	data.Times = q.times(r)
	goesOn := slices.ContainsFunc(s.attempts, func(a jobs.Run) bool { return a.Outcome == "" })
	return &view{template: "run", Title: "Run of " + r.Job, Menu: "jobs", Live: r.Outcome == "" || goesOn, Data: data}, nil
}

// attempts are the runs of the tick of r, those that are in flight among them, in the order in which they were claimed.
func (q *request) attempts(ctx context.Context, r jobs.Run) ([]jobs.Run, error) {
	if r.Ticks > 1 {
		return nil, nil
	}
	var (
		records [][]jobs.Run
		st      jobs.Status
	)
	err := inParallel(
		func() (err error) { records, err = q.d.jobs.RecentRuns(ctx, attemptsDepth, r.Job); return err },
		func() (err error) {
			if st, err = q.statusOf(ctx, r.Job); isAnswer(err) {
				err = nil
			}
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	byID := map[string]jobs.Run{r.ID: r}
	for _, other := range slices.Concat(records[0], st.Running) {
		if other.Tick.Equal(r.Tick) && other.OneOff == r.OneOff && other.Ticks < 2 {
			byID[other.ID] = other
		}
	}
	return slices.SortedFunc(maps.Values(byID), func(a, b jobs.Run) int {
		return cmp.Or(a.Claimed.Compare(b.Claimed), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.ID, b.ID))
	}), nil
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
