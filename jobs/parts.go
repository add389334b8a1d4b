package jobs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// PartsError says that some parts of the store did not answer, for example because one server of a Redis Cluster is
// down. The list that comes with it has what the other parts have answered.
type PartsError struct {
	Parts []int // that did not answer, from 0 on
	Of    int   // how many there are
	Err   error // the error of one of them
}

func (e *PartsError) Error() string {
	return fmt.Sprintf("%d of %d parts of the job store do not answer (%s), what is in them is missing: %v",
		len(e.Parts), e.Of, strings.Trim(fmt.Sprint(e.Parts), "[]"), e.Err)
}

func (e *PartsError) Unwrap() error { return e.Err }

// isPartial reports whether errors say only of parts that do not answer.
func isPartial(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(several.Unwrap(), func(one error) bool { return !isPartial(one) })
	}
	var parts *PartsError
	return errors.As(err, &parts)
}

// joinPartial puts errors together that say of parts that do not answer. One that says more stands alone.
func joinPartial(errs ...error) error {
	for _, err := range errs {
		if err != nil && !isPartial(err) {
			return err
		}
	}
	return errors.Join(errs...)
}

// causeOf is the error of a part that did not answer.
func causeOf(err error) error {
	var parts *PartsError
	if errors.As(err, &parts) && parts.Err != nil {
		return parts.Err
	}
	return err
}

// PartsErrorOf returns the error of calls that were made to each part. It is nil if no call has failed, and not a
// PartsError if all calls have failed.
func PartsErrorOf(failed []error) error {
	var missing []int
	var err error
	for part, why := range failed {
		if why != nil {
			missing, err = append(missing, part), why
		}
	}
	if len(missing) == 0 || len(missing) == len(failed) {
		return err
	}
	return &PartsError{Parts: missing, Of: len(failed), Err: err}
}
