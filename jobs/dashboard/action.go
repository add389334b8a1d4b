package dashboard

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

const (
	maxForm   = 64 << 10
	maxReason = 500
	maxTold   = 1000 // bytes of the reason for which a lock was broken that its holder is told
)

// action changes something. It is asked for with GET, which shows what it will do, and done with POST from there.
type action struct {
	verb    string // "pause"
	param   string // the name of the parameter that says what to act on
	needs   bool   // a reason must be given
	reason  bool   // a reason may be given
	danger  bool   // it ends work that is under way
	explain func(q *request, target string) (*question, error)
	do      func(q *request, ctx context.Context, target, reason string) (done, next string, err error)
}

// question is what the user confirms.
type question struct {
	Title  string
	Text   []string
	Button string
	Back   string // where to go instead
	Holder string // of the lock to break, as the user saw it
	Lease  string // of the one holder to break, among several
	Each   []holderRow
	Key    string // of Each

	// set by ask
	Page, Param, Target, Reason string
	Escaped                     bool // the target is
	Token                       string
	HasReason, NeedsReason      bool
	Danger                      bool
	MaxReason                   int
}

func confirm(a *action) func(*request) (*view, error) {
	return func(q *request) (*view, error) { return q.ask(a, q.r.URL.Query().Get(a.param), "", nil) }
}

// ask shows the question, with what went wrong the last time.
func (q *request) ask(a *action, target, reason string, wrong *problem) (*view, error) {
	question, err := a.explain(q, target)
	if err != nil && wrong != nil && !errors.As(err, new(*crash)) {
		return nil, wrong
	}
	if err != nil {
		return nil, err
	}
	question.Page, question.Param, question.Reason = q.name, a.param, reason
	question.escape(target)
	question.HasReason, question.NeedsReason = a.reason || a.needs, a.needs
	question.Danger, question.MaxReason, question.Token = a.danger, maxReason, newToken()
	v := &view{template: "confirm", Title: question.Title, Data: question}
	if wrong != nil {
		v.Problems = []*problem{wrong}
	}
	return v, nil
}

// perform does what a form asks for, once for each token: see sentForms.
func perform(a *action) func(*request) (*view, error) {
	sent := &sentForms{}
	return func(q *request) (*view, error) {
		q.r.Body = http.MaxBytesReader(q.w, q.r.Body, maxForm)
		if err := q.r.ParseForm(); err != nil {
			return nil, &problem{Status: http.StatusBadRequest, Title: "Form not understood", Detail: err.Error(),
				Text: "Nothing was changed.", Advice: "Go back to the page and try again."}
		}
		target, reason := targetOf(q.r.PostForm, a.param), strings.TrimSpace(q.r.PostForm.Get("reason"))
		if wrong := a.check(reason); wrong != nil {
			return q.ask(a, target, reason, wrong)
		}
		o, before := sent.do(q.ctx, q.author(), q.r.PostForm, func() outcome { return q.perform(a, target, reason) })
		if before {
			o = o.again(a.verb, quote(target), q)
		}
		if o.err != nil {
			return q.ask(a, target, reason, q.problemOf(a.verb, quote(target), o.err))
		}
		q.leaveNote(o.done)
		redirect(q.w, http.StatusSeeOther, o.next)
		return nil, nil
	}
}

// escapedTarget is the field that says that the target is escaped.
const escapedTarget = "escaped"

// escape makes a target one that a form keeps as it is: browsers send ends of lines as CRLF, and no bytes that are no text.
func (qu *question) escape(target string) {
	qu.Target = target
	if !utf8.ValidString(target) || strings.ContainsAny(target, "\r\n") {
		qu.Target, qu.Escaped = url.QueryEscape(target), true
	}
}

func targetOf(form url.Values, param string) string {
	target := form.Get(param)
	if form.Get(escapedTarget) == "" {
		return target
	}
	if plain, err := url.QueryUnescape(target); err == nil {
		return plain
	}
	return target
}

func (a *action) check(reason string) *problem {
	p := &problem{Status: http.StatusUnprocessableEntity, Title: "Nothing was changed yet"}
	switch {
	case a.needs && reason == "":
		p.Text = "A reason is missing."
		p.Advice = "Write for those who will find it later: what is wrong, and who is on it."
	case utf8.RuneCountInString(reason) > maxReason || !utf8.ValidString(reason):
		p.Text, p.Advice = "The reason is too long, or is no text.", "Use "+number(maxReason)+" characters at most."
	default:
		return nil
	}
	return p
}

// perform does it, also if the user's connection breaks meanwhile.
func (q *request) perform(a *action, target, reason string) outcome {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.r.Context()), storeTimeout)
	defer cancel()
	var done, next string
	err := caught(func() (err error) { done, next, err = a.do(q, ctx, target, reason); return err })
	q.d.forget()
	level := slog.LevelInfo
	if err != nil && !errors.As(err, new(*problem)) {
		level = slog.LevelError
	}
	q.d.cfg.Logger.LogAttrs(q.ctx, level, "dashboard action", slog.String("action", a.verb), slog.String("target", target),
		slog.String("user", q.author()), slog.String("reason", reason), slog.Any("error", err))
	return outcome{done, next, err}
}

// author is who does it, for the records.
func (q *request) author() string {
	if q.user.Name == "" {
		return "unnamed operator"
	}
	return q.user.Name
}

// signed puts the author behind a reason that is told without one, and cuts the reason where both are too long.
func signed(reason, author string) string {
	by := " (by " + author + ")"
	if end := maxTold - len(by) - len("…"); len(reason)+len(by) > maxTold && end > 0 {
		for !utf8.RuneStart(reason[end]) {
			end--
		}
		reason = reason[:end] + "…"
	}
	return reason + by
}
