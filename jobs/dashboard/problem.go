package dashboard

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// problem is an error as people see it.
type problem struct {
	Status int    // of HTTP; 0: the rest of the page is good
	Title  string // what is wrong
	Text   string // what was tried, and why it failed
	Detail string // the error as it came
	Advice string // what to do
}

func (p *problem) Error() string { return p.Title + ": " + p.Text }

// storeProblem is for a store that could not be asked for what.
func (q *request) storeProblem(what string, err error) *problem {
	text := "The store was asked for " + what + " and answered with an error."
	if errors.Is(err, context.DeadlineExceeded) {
		text = "The store was asked for " + what + " and did not answer in time."
	}
	return &problem{
		Status: http.StatusServiceUnavailable, Title: "The store is not available", Text: text,
		Detail: q.text("error", err.Error()),
		Advice: "See whether the store runs and can be reached from " + q.d.locks.Node() +
			". This page tries again by itself.",
	}
}

// partsProblem is for a page that lacks what is in parts of the store.
func partsProblem(detail string) *problem {
	return &problem{
		Title: "A part of the store does not answer", Text: "What is in it is missing on this page.", Detail: detail,
		Advice: "See whether all servers of the store run. This page tries again by itself.",
	}
}

// lateProblem is for a page that shows an older answer of a store that is slow.
func lateProblem(what string) *problem {
	return &problem{
		Title:  "The store is slow",
		Text:   "It was asked for " + what + " and has not answered yet. What is shown is older: the foot of the page says as of when.",
		Advice: "This page tries again by itself.",
	}
}

// problemOf explains the error of the action that verb names, on what.
func (q *request) problemOf(verb, what string, err error) *problem {
	p := &problem{Status: http.StatusConflict, Title: "Could not " + verb + " " + what,
		Detail: q.text("error", err.Error())}
	switch {
	case errors.As(err, new(*problem)):
		errors.As(err, &p)
	case errors.Is(err, jobs.ErrUnknownJob):
		p.Status, p.Text, p.Advice = http.StatusNotFound, "No node of this cluster has such a job.",
			"See the list of jobs. A job disappears from it when no running version of the program adds it."
	case errors.Is(err, jobs.ErrOrphaned):
		p.Text, p.Advice = "No node has this job any more, so nobody would run it.",
			"It was removed or renamed: see the list of jobs."
	case errors.Is(err, jobs.ErrUnknownRun):
		p.Status, p.Text, p.Advice = http.StatusNotFound,
			"There is no such run: it has ended, or its record has made room for newer ones.",
			"See the page of its job for the runs that are kept."
	case errors.Is(err, jobs.ErrNotAgain):
		p.Text = "This record stands for nothing that can be run again."
		p.Advice = "See the page of the job: it can be run now."
	case errors.Is(err, lockrt.ErrCursor):
		p.Status, p.Text, p.Advice = http.StatusNotFound, "The list of locks has no such page.", "Begin with the first one."
	case errors.Is(err, lockrt.ErrNotHeld):
		p.Text, p.Advice = "Nobody holds this lock any more.", "There is nothing to do: the next one to ask gets it."
	case errors.Is(err, lockrt.ErrKey):
		p.Status, p.Text, p.Advice = http.StatusNotFound, "No lock can have such a key.", "See the list of locks."
	case errors.Is(err, errors.ErrUnsupported):
		p.Status, p.Text, p.Advice = http.StatusNotImplemented, "The store of this cluster cannot do that.",
			"Use a store that can."
	default:
		p.Status, p.Text = http.StatusServiceUnavailable, "The store did not confirm it, so it may have happened or not."
		p.Advice = "See the present state before you try again."
	}
	return p
}

// failed is the page for an error.
func (q *request) failed(err error) *view {
	if q.silence != nil && errors.Is(err, q.silence) {
		return &view{template: "problem", Title: "Unknown", Menu: cmp.Or(q.name, "overview"), Live: true}
	}
	p := &problem{Status: http.StatusInternalServerError, Title: "This page could not be made",
		Text:   "The dashboard has failed.",
		Detail: q.text("error", err.Error())}
	if !errors.As(err, &p) {
		q.d.cfg.Logger.LogAttrs(q.ctx, slog.LevelError, "dashboard page failed", slog.String("page", q.name),
			slog.Any("error", err))
	}
	refused := p.Status == http.StatusForbidden || p.Status == http.StatusUnauthorized
	return &view{template: "problem", Title: p.Title, Problems: []*problem{p}, Refused: refused}
}
