package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// This file keeps what a store must not do from ending the process: a call that panics has failed, and so has one that
// does not answer for each element of what it was given, or whose answer cannot be. The methods of the errors that it
// returns can be called, now and later, and an error that this package looks for in them is not nil.

// broken is the error of a call that has not returned.
func broken(panicked any) error {
	if panicked == nil {
		return errors.New("the job store has ended the goroutine of the call (runtime.Goexit)")
	}
	return fmt.Errorf("the job store panicked: %s\n%s", cut(panicText(panicked), 200), cut(string(debug.Stack()), 2000))
}

// sound puts an error in the place of each whose methods can be called whatever those of the store's do.
func sound(errs ...*error) {
	for _, err := range errs {
		*err = soundOf("job store", *err)
	}
}

// soundLock is sound for an error of the locks.
func soundLock(err error) error { return soundOf("store of locks", err) }

// soundOf is sound for the error of a store.
func soundOf(store string, err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *PartsError:
		if e != nil {
			return &PartsError{Parts: e.Parts, Of: e.Of, Err: soundOf(store, e.Err)}
		}
	case interface{ Unwrap() []error }:
		if reflect.TypeOf(err) == joinType { // those that read the errors of parts look into it
			errs := slices.Clone(e.Unwrap())
			for i := range errs {
				errs[i] = soundOf(store, errs[i])
			}
			return errors.Join(errs...)
		}
	}
	if isPlain(err) {
		return err
	}
	e := &foreignError{cause: err}
	found, failure := guard(e.ask)
	if why := cmp.Or(failure, found); why != "" {
		return fmt.Errorf("the %s has returned an error of type %T, whose methods fail: %s", store, err, why)
	}
	return e
}

var joinType, wrapType, wrapsType, textType = reflect.TypeOf(errors.Join(errNobodys)), reflect.TypeOf(fmt.Errorf("%w", errNobodys)),
	reflect.TypeOf(fmt.Errorf("%w%w", errNobodys, errNobodys)), reflect.TypeOf(errors.New(""))

// isPlain reports whether all of an error is of kinds whose methods are known not to fail.
func isPlain(err error) bool {
	switch e := err.(type) {
	case *CancelledError:
		return e != nil
	case *lockrt.BusyError:
		return e != nil
	}
	switch reflect.TypeOf(err) {
	case textType, reflect.TypeOf(context.DeadlineExceeded):
		return true
	case wrapType:
		return isPlain(errors.Unwrap(err))
	case joinType, wrapsType:
		return !slices.ContainsFunc(err.(interface{ Unwrap() []error }).Unwrap(), func(err error) bool { return !isPlain(err) })
	}
	return false
}

// foreignError is an error with methods of a store, or of its driver. They have not failed once, and may the next time: for
// others than this package they are called where that harms nobody. What this package looks for is known.
type foreignError struct {
	cause     error
	text      string
	is        []error // of lookedFor
	cancelled *CancelledError
	parts     *PartsError
	busy      *lockrt.BusyError
}

// lookedFor are the errors that this package looks for in those of stores, often, and while others wait.
var lookedFor = []error{
	ErrGone, ErrLocked, ErrCompleted, ErrUnknownJob, context.Canceled, context.DeadlineExceeded, errors.ErrUnsupported,
	lockrt.ErrBusy, lockrt.ErrClosed, lockrt.ErrKey, lockrt.ErrLost, lockrt.ErrNested, lockrt.ErrNotHeld, lockrt.ErrOptions,
}

// ask asks the error what there is to know of it. It returns what is wrong with it.
func (e *foreignError) ask() (wrong string) {
	e.text = e.cause.Error()
	for _, target := range lookedFor {
		if errors.Is(e.cause, target) {
			e.is = append(e.is, target)
		}
	}
	return cmp.Or(find(e.cause, &e.cancelled), find(e.cause, &e.parts), find(e.cause, &e.busy), find(e.cause, new(*nobodysError)))
}

func (e *foreignError) Error() string { return e.text }

// Is implements the interface of errors.Is.
func (e *foreignError) Is(target error) bool {
	if slices.Contains(lookedFor, target) {
		return slices.Contains(e.is, target)
	}
	is, _ := guard(func() bool { return errors.Is(e.cause, target) })
	return is
}

// As implements the interface of errors.As. What it finds is not nil.
func (e *foreignError) As(target any) bool {
	switch to := target.(type) {
	case **CancelledError:
		*to = e.cancelled
		return e.cancelled != nil
	case **PartsError:
		*to = e.parts
		return e.parts != nil
	case **lockrt.BusyError:
		*to = e.busy
		return e.busy != nil
	}
	to := reflect.ValueOf(target).Elem()
	found, _ := guard(func() reflect.Value { // not in target, which is the caller's when this takes too long
		found := reflect.New(to.Type())
		if !errors.As(e.cause, found.Interface()) || found.Elem().IsZero() && isNillable(to.Kind()) {
			return reflect.Value{}
		}
		return found.Elem()
	})
	if found.IsValid() {
		to.Set(found)
	}
	return found.IsValid()
}

func isNillable(kind reflect.Kind) bool { return kind == reflect.Pointer || kind == reflect.Interface }

// find is errors.As. It says what is wrong with an E that it has found, "" if nothing is. A struct that wraps a nil pointer
// is an easy mistake, and so is an As method that answers true and sets nothing: who trusts errors.As would end the process.
func find[E interface {
	comparable
	error
}](err error, found *E) (wrong string) {
	var none E
	if errors.As(err, found) && *found == none {
		return fmt.Sprintf("errors.As finds a %T in it that is nil", none)
	}
	return ""
}

// errNobodys and nobodysError are in no error.
var errNobodys error = new(nobodysError)

type nobodysError struct{}

func (*nobodysError) Error() string { return "" }

// incomplete is the error of a call that has not answered for each element of what it was given; nil if it has.
func incomplete(answers, elements int) error {
	if answers == elements {
		return nil
	}
	return fmt.Errorf("the job store has given %d answers for %d elements", answers, elements)
}

// errNoTime is the error of an answer without the store's time. The clock of a part would jump to the year 1.
var errNoTime = errors.New("the job store has not said what time it is")

// timed is the error of an answer with this time of the store; nil if it has one.
func timed(now time.Time) error {
	if now.IsZero() {
		return errNoTime
	}
	return nil
}

// sound is incomplete and timed for a view, and sound for its errors.
func (v View) sound(jobs int) error {
	errs := make([]*error, len(v.Jobs))
	for i := range v.Jobs {
		errs[i] = &v.Jobs[i].Err
	}
	sound(errs...)
	return cmp.Or(incomplete(len(v.Jobs), jobs), timed(v.Now))
}

// sound makes an answer to a claim that there is not into an error.
func (c *Claimed) sound() {
	switch {
	case c.Err != nil:
		return
	case c.Status < ClaimWon || c.Status > ClaimUnknown:
		c.Err = fmt.Errorf("the job store has answered a claim with status %d, which there is not", c.Status)
	default:
		c.Err = timed(c.Now)
	}
	if c.Err != nil {
		*c = Claimed{Err: c.Err}
	}
}

// soundEnds makes those answers to finishes into errors that the finishes cannot have. A success without another attempt
// ends a run that was completed in a transaction, too.
func soundEnds(finishes []Finish, errs []error) []error {
	for i, f := range finishes {
		if f.Run.Outcome == OutcomeOK && f.Next == nil && errors.Is(errs[i], ErrCompleted) {
			errs[i] = fmt.Errorf("the job store does not end a run that was completed, although this is what it was "+
				"asked for: %v", errs[i])
		}
	}
	return errs
}
