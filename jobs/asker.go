package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// mostStuck is how many calls of methods of a store's errors may hang. While so many do, no more are made.
const mostStuck = 3

// asker asks the errors that a store returns what they are. Their methods may panic, hang and answer what cannot be.
type asker struct {
	store string       // what it is called
	stuck atomic.Int32 // the calls that have not returned in time
}

// notAsked is what went wrong with methods that have not been called.
const notAsked = "they have not answered"

// ask calls f, which calls methods of errors, or of what the store has panicked with.
func ask[T any](a *asker, limit time.Duration, f func() T) (v T, failure string) {
	if limit <= 0 || a.stuck.Load() >= mostStuck {
		return v, notAsked
	}
	return guardWithin(limit, &a.stuck, f)
}

// sound puts an error in the place of each whose methods can be called whatever those of the store's do. The errors of an
// answer share the time for this: the answer is to be there when its call ends.
func (a *asker) sound(ctx context.Context, errs ...*error) {
	now := time.Now()
	until := now.Add(guardTime)
	if end, ok := ctx.Deadline(); ok && end.Before(until) {
		until = latest(end, now.Add(answerGrace/2))
	}
	for _, err := range errs {
		left := mostWrapped
		*err = a.soundOf(*err, until, &left)
	}
}

// soundOf is sound for an error that may be in another. left is how many more may be in that.
func (a *asker) soundOf(err error, until time.Time, left *int) error {
	if *left--; *left < 0 {
		return fmt.Errorf("the %s has returned an error that %s", a.store, endless)
	}
	switch e := err.(type) {
	case nil:
		return nil
	case *PartsError:
		if e != nil {
			return a.soundParts(e, until, left)
		}
	case *foreignError:
		if e != nil {
			return e
		}
	case interface{ Unwrap() []error }:
		if reflect.TypeOf(err) == joinType { // those that read the errors of parts look into it
			errs := slices.Clone(e.Unwrap())
			for i := range errs {
				errs[i] = a.soundOf(errs[i], until, left)
			}
			return errors.Join(errs...)
		}
	}
	within := *left
	if isPlain(err, &within) && len(err.Error()) <= maxErrorText {
		return err
	}
	e := &foreignError{asker: a}
	found, failure := ask(a, time.Until(until), func() string { return e.ask(err) })
	if why := cmp.Or(failure, found); why != "" {
		return fmt.Errorf("the %s has returned an error of type %T, whose methods fail: %s", a.store, err, why)
	}
	if e.parts != nil {
		e.parts = a.soundParts(e.parts, until, left)
	}
	return e
}

func (a *asker) soundParts(e *PartsError, until time.Time, left *int) *PartsError {
	return &PartsError{Parts: e.Parts, Of: e.Of, Err: a.soundOf(e.Err, until, left)}
}

var joinType, wrapType, wrapsType, textType = reflect.TypeOf(errors.Join(errNobodys)), reflect.TypeOf(fmt.Errorf("%w", errNobodys)),
	reflect.TypeOf(fmt.Errorf("%w%w", errNobodys, errNobodys)), reflect.TypeOf(errors.New(""))

// isPlain reports whether all of an error is of kinds whose methods are known not to fail. left is how many more may be in it.
func isPlain(err error, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	switch e := err.(type) {
	case *CancelledError:
		return e != nil
	case *foreignError:
		return e != nil
	case *lockrt.BusyError:
		return e != nil
	}
	switch reflect.TypeOf(err) {
	case textType, reflect.TypeOf(context.DeadlineExceeded):
		return true
	case wrapType:
		return isPlain(errors.Unwrap(err), left)
	case joinType, wrapsType:
		return !slices.ContainsFunc(err.(interface{ Unwrap() []error }).Unwrap(), func(err error) bool { return !isPlain(err, left) })
	}
	return false
}
