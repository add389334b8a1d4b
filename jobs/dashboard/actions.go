package dashboard

import (
	"context"
	"fmt"
	"net/http"

	"github.com/lockgen/lockgen/jobs"
)

var runNow = &action{
	verb: "run", param: "name",
	explain: func(q *request, name string) (*question, error) {
		st, err := q.status(name)
		if err != nil {
			return nil, q.missingOr(err, "job "+quote(name))
		}
		text := []string{"Any node of the cluster may run it. Its schedule stays as it is."}
		if len(st.Running) > 0 {
			text = append(text, "It is running at present: "+overlapNow(st.Job)+".")
		}
		return &question{Title: "Run " + name + " now?", Text: text, Button: "Run now", Back: address("job", "name", name)},
			nil
	},
	do: func(q *request, ctx context.Context, name, _ string) (string, string, error) {
		id, err := q.d.jobs.RunNow(ctx, name, q.author())
		return "Asked the cluster to run " + quote(name) + " now, as run " + id + ".", address("job", "name", name), err
	},
}

func overlapNow(j jobs.Job) string {
	switch j.Overlap {
	case jobs.OverlapQueue:
		return "the new run waits for it"
	case jobs.OverlapReplace:
		return "the new run cancels it and takes its place"
	case jobs.OverlapAllow:
		return "the new run goes on beside it"
	}
	return "if that has not ended by then, the new run is recorded as skipped"
}

var runAgain = &action{
	verb: "run again", param: "id",
	explain: func(q *request, id string) (*question, error) {
		r, err := q.d.jobs.FindRun(q.ctx, id)
		if err != nil {
			return nil, q.missingOr(err, "run "+quote(id))
		}
		if r.Outcome == "" || r.Ticks > 1 {
			return nil, &problem{Status: http.StatusConflict, Title: "This cannot be run again",
				Text:   "Run " + quote(id) + " goes on, or stands for several ticks.",
				Advice: "See the page of the job: it can be run now."}
		}
		return &question{Title: "Run this tick of " + r.Job + " again?", Button: "Run again", Back: address("run", "id", id),
			Text: []string{
				"The new run does the work of " + q.moment(r.Tick).Full + ", as the old one should have. It ended as " +
					string(r.Outcome) + ", and its record stays.",
				"Any node of the cluster may run it. The schedule stays as it is.",
			}}, nil
	},
	do: func(q *request, ctx context.Context, id, _ string) (string, string, error) {
		newID, err := q.d.jobs.RunAgain(ctx, id, q.author())
		return "Asked the cluster to run the tick again, as run " + newID + ".", address("run", "id", newID), err
	},
}

var pause = &action{
	verb: "pause", param: "name", needs: true,
	explain: func(q *request, name string) (*question, error) {
		if _, err := q.status(name); err != nil {
			return nil, q.missingOr(err, "job "+quote(name))
		}
		return &question{Title: "Pause " + name + "?", Button: "Pause", Back: address("job", "name", name), Text: []string{
			"No node starts it any more until somebody resumes it, also after restarts. A run that goes on is not ended.",
			"What becomes due meanwhile is recorded as skipped.",
		}}, nil
	},
	do: func(q *request, ctx context.Context, name, reason string) (string, string, error) {
		err := q.d.jobs.Pause(ctx, name, q.author(), reason)
		return "Paused " + quote(name) + " on all nodes.", address("job", "name", name), err
	},
}

var resume = &action{
	verb: "resume", param: "name",
	explain: func(q *request, name string) (*question, error) {
		st, err := q.status(name)
		if err != nil {
			return nil, q.missingOr(err, "job "+quote(name))
		}
		text := []string{"It is not paused."}
		if p := st.Paused; p != nil {
			text = []string{
				fmt.Sprintf("Paused by %s %s, with the reason: %s", p.Author, q.moment(p.At).Away, q.text("reason", p.Reason)),
				"From the next tick on it runs by its schedule again.",
			}
		}
		return &question{Title: "Resume " + name + "?", Text: text, Button: "Resume", Back: address("job", "name", name)}, nil
	},
	do: func(q *request, ctx context.Context, name, _ string) (string, string, error) {
		err := q.d.jobs.Resume(ctx, name, q.author())
		return "Resumed " + quote(name) + " on all nodes.", address("job", "name", name), err
	},
}

var cancel = &action{
	verb: "cancel", param: "id", reason: true, danger: true,
	explain: func(q *request, id string) (*question, error) {
		r, err := q.d.jobs.FindRun(q.ctx, id)
		if err != nil {
			return nil, q.missingOr(err, "run "+quote(id))
		}
		if r.Outcome != "" {
			return nil, &problem{Status: http.StatusConflict, Title: "The run has ended already",
				Text: "Run " + quote(id) + " of " + quote(r.Job) + " ended " + q.moment(r.Ended).Away + ": " + string(r.Outcome) +
					".",
				Advice: "There is nothing to cancel. See the page of the job for what runs now."}
		}
		return &question{Title: "Cancel this run of " + r.Job + "?", Button: "Cancel the run", Back: address("run", "id", id),
			Text: []string{
				fmt.Sprintf("It runs on %s%s. The context of its work ends; the work stops when it notices.", r.Node,
					since(q.took(r))),
				"It is recorded as cancelled, with your name, and not tried again.",
			}}, nil
	},
	do: func(q *request, ctx context.Context, id, reason string) (string, string, error) {
		err := q.d.jobs.Cancel(ctx, id, q.author(), reason)
		return "Asked the node to cancel the run. Its record shows when it has.", address("run", "id", id), err
	},
}

func since(took string) string {
	if took == "" {
		return ""
	}
	return ", for " + took + " so far"
}

var withdraw = &action{
	verb: "withdraw", param: "id", danger: true,
	explain: func(_ *request, id string) (*question, error) {
		return &question{Title: "Withdraw the one-off job " + id + "?", Button: "Withdraw", Back: address("one-off"),
			Text: []string{
				"It will not run. If it runs already it goes on.",
			}}, nil
	},
	do: func(q *request, ctx context.Context, id, _ string) (string, string, error) {
		return "Withdrew the one-off job " + quote(id) + ".", address("one-off"), q.d.jobs.Withdraw(ctx, id)
	},
}
