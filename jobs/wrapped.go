package jobs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

const (
	// mostWrapped is how many errors may be in one. One that wraps itself has no end.
	mostWrapped = 1000
	// endless is what is wrong with an error that has more.
	endless = "wraps itself, or too many others"
)

// wrapped returns an error and all that it wraps, in the order of errors.Is. It returns none if they are more than mostWrapped.
func wrapped(err error) (all []error) {
	var add func(err error) bool
	add = func(err error) bool {
		if err == nil {
			return true
		}
		if all = append(all, err); len(all) > mostWrapped {
			return false
		}
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			return add(e.Unwrap())
		case interface{ Unwrap() []error }:
			return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !add(err) })
		}
		return true
	}
	if !add(err) {
		return nil
	}
	return all
}

// isAny is errors.Is of what is wrapped.
func isAny(all []error, target error) bool {
	comparable := reflect.TypeOf(target).Comparable()
	return slices.ContainsFunc(all, func(err error) bool {
		e, ok := err.(interface{ Is(error) bool })
		return comparable && err == target || ok && e.Is(target)
	})
}

// asAny is errors.As of what is wrapped.
func asAny(all []error, target any) bool {
	to := reflect.ValueOf(target).Elem()
	return slices.ContainsFunc(all, func(err error) bool {
		if reflect.TypeOf(err).AssignableTo(to.Type()) {
			to.Set(reflect.ValueOf(err))
			return true
		}
		e, ok := err.(interface{ As(any) bool })
		return ok && e.As(target)
	})
}

// find is asAny. It says what is wrong with an E that it has found, "" if nothing is. A struct that wraps a nil pointer
// is an easy mistake, and so is an As method that answers true and sets nothing: who trusts errors.As would end the process.
func find[E interface {
	comparable
	error
}](all []error, found *E) (wrong string) {
	var none E
	if asAny(all, found) && *found == none {
		return fmt.Sprintf("errors.As finds a %T in it that is nil", none)
	}
	return ""
}

// isMoving reports whether a cluster has put off a call because it moves what the call is about from one server to
// another. Its own text begins with that; what callers have put before it may have any name in it.
func isMoving(err error) bool { return slices.ContainsFunc(wrapped(err), saysMoving) }

// saysMoving is isMoving for an error alone. One that cannot be read does not say so.
func saysMoving(err error) (yes bool) {
	if e, ok := err.(*foreignError); ok {
		return e.moving
	}
	defer func() { _ = recover() }()
	return isTryAgain(err.Error())
}

func isTryAgain(text string) bool {
	code, _, _ := strings.Cut(text, " ")
	return code == "TRYAGAIN"
}
