package jobs

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
)

// This file keeps what a store must not do from ending the process: a call that panics has failed, and so has one that
// does not answer for each element of what it was given. The methods of the errors that it returns can be called.

// broken is the error of a call that has not returned.
func broken(panicked any) error {
	if panicked == nil {
		return errors.New("the job store has ended the goroutine of the call (runtime.Goexit)")
	}
	return fmt.Errorf("the job store panicked: %s\n%s", cut(panicText(panicked), 200), cut(string(debug.Stack()), 2000))
}

// sound puts another error in the place of each whose methods fail.
func sound(errs ...*error) {
	if !slices.ContainsFunc(errs, func(err *error) bool { return *err != nil }) || failureOfMethods(errs) == "" {
		return
	}
	for _, err := range errs {
		if why := failureOfMethods([]*error{err}); why != "" {
			*err = fmt.Errorf("the job store has returned an error of type %T, whose methods fail: %s", *err, why)
		}
	}
}

// failureOfMethods calls the methods of errors.
func failureOfMethods(errs []*error) string {
	_, failure := guard(func() (_ struct{}) {
		for _, err := range errs {
			if *err != nil {
				_, _ = (*err).Error(), errors.Is(*err, errNobodys)
				errors.As(*err, new(*nobodysError))
			}
		}
		return
	})
	return failure
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

// sound is incomplete for a view, and sound for its errors.
func (v View) sound(jobs int) error {
	errs := make([]*error, len(v.Jobs))
	for i := range v.Jobs {
		errs[i] = &v.Jobs[i].Err
	}
	sound(errs...)
	return incomplete(len(v.Jobs), jobs)
}
