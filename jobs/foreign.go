package jobs

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// foreignError is an error with methods of a store, or of its driver. They have not failed once, and may the next time: for
// others than this package they are called where that harms nobody. What this package looks for is known.
type foreignError struct {
	asker     *asker
	all       []error // it, and what it wraps
	text      string  // of at most maxErrorText bytes
	is        []error // of lookedFor
	moving    bool    // see isMoving
	cancelled *CancelledError
	parts     *PartsError
	busy      *lockrt.BusyError
}

// lookedFor are the errors that this package looks for in those of stores, often, and while others wait.
var lookedFor = []error{
	ErrGone, ErrLocked, ErrCompleted, ErrUnknownJob, context.Canceled, context.DeadlineExceeded, errors.ErrUnsupported,
	lockrt.ErrBusy, lockrt.ErrClosed, lockrt.ErrKey, lockrt.ErrLost, lockrt.ErrNested, lockrt.ErrNotHeld, lockrt.ErrOptions,
}

// ask asks an error what there is to know of it. It returns what is wrong with it.
func (e *foreignError) ask(err error) (wrong string) {
	if e.all = wrapped(err); e.all == nil {
		return "it " + endless
	}
	e.text = cut(err.Error(), maxErrorText)
	for _, target := range lookedFor {
		if isAny(e.all, target) {
			e.is = append(e.is, target)
		}
	}
	e.moving = isTryAgain(e.text) || slices.ContainsFunc(e.all[1:], saysMoving)
	return cmp.Or(find(e.all, &e.cancelled), find(e.all, &e.parts), find(e.all, &e.busy), find(e.all, new(*nobodysError)))
}

func (e *foreignError) Error() string { return e.text }

// Is implements the interface of errors.Is.
func (e *foreignError) Is(target error) bool {
	if slices.Contains(lookedFor, target) {
		return slices.Contains(e.is, target)
	}
	is, _ := ask(e.asker, guardTime, func() bool { return isAny(e.all, target) })
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
	found, _ := ask(e.asker, guardTime, func() reflect.Value { // not in target, which is the caller's when this takes too long
		found := reflect.New(to.Type())
		if !asAny(e.all, found.Interface()) || found.Elem().IsZero() && isNillable(to.Kind()) {
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

// errNobodys and nobodysError are in no error.
var errNobodys error = new(nobodysError)

type nobodysError struct{}

func (*nobodysError) Error() string { return "" }
