package dashboard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/url"
	"sync"
	"time"
)

const (
	// onceField is the field of a form that holds its token.
	onceField = "once"
	// maxSent is how many forms of one action are remembered.
	maxSent = 100
	// sentFor is how long a form is remembered.
	sentFor = 10 * time.Minute
)

// newToken marks a form. It keeps a double click from acting twice. It protects from nobody: a form without one is done, too.
func newToken() string { return rand.Text() }

// outcome is what an action came to.
type outcome struct {
	done, next string
	err        error
}

// errBrokeOff is the outcome of an action that has panicked.
var errBrokeOff = errors.New("the action broke off")

// sentForms remembers the forms of one action that were sent to this process, and what came of them. A form is known by its user
// and all its fields. The oldest is forgotten first.
type sentForms struct {
	mu    sync.Mutex // guards the rest
	forms map[[sha256.Size]byte]*sentForm
	order []*sentForm // by at
}

type sentForm struct {
	key   [sha256.Size]byte
	at    time.Time
	ended chan struct{} // closed when outcome is set
	outcome
}

// do acts, unless the form was sent before: then it waits for what came of it, until ctx ends. It reports whether it was.
func (s *sentForms) do(ctx context.Context, user string, form url.Values, act func() outcome) (o outcome, before bool) {
	if form.Get(onceField) == "" {
		return act(), false
	}
	f, before := s.of(sha256.Sum256([]byte(url.QueryEscape(user) + "?" + form.Encode())))
	if before {
		select {
		case <-f.ended:
			return f.outcome, true
		case <-ctx.Done():
			return outcome{err: ctx.Err()}, true
		}
	}
	f.err = errBrokeOff
	defer close(f.ended)
	f.outcome = act()
	return f.outcome, false
}

// of returns the form with the key, and whether it was known.
func (s *sentForms) of(key [sha256.Size]byte) (f *sentForm, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for len(s.order) > 0 && now.Sub(s.order[0].at) >= sentFor {
		s.forgetOldest()
	}
	if f = s.forms[key]; f != nil {
		return f, true
	}
	if len(s.order) >= maxSent {
		s.forgetOldest()
	}
	if s.forms == nil {
		s.forms = map[[sha256.Size]byte]*sentForm{}
	}
	f = &sentForm{key: key, at: now, ended: make(chan struct{})}
	s.forms[key] = f
	s.order = append(s.order, f)
	return f, false
}

// forgetOldest leaves those alone who wait for it.
func (s *sentForms) forgetOldest() {
	delete(s.forms, s.order[0].key)
	s.order[0] = nil
	s.order = s.order[1:]
}

// again is the outcome as those are told who sent the form again.
func (o outcome) again(verb, what string, q *request) outcome {
	if o.err == nil {
		o.done += " The form was sent more than once. It was done once."
		return o
	}
	p := *q.problemOf(verb, what, o.err)
	p.Text += " The form was sent more than once. It was tried once."
	o.err = &p
	return o
}
