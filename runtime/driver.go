package lockrt

import (
	"fmt"
	"runtime/debug"
)

// This file calls drivers where no caller could recover from a panic.

// guarded calls a driver where no caller could recover from a panic. See guard.
func guarded(what string, call func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		guard(what, call, &err)
	}()
	<-done
	return err
}

// guard calls a driver in a goroutine of its own, and sets err to the result. A panic is an error that says what the store
// was doing, and so is the end of the goroutine.
func guard(what string, call func() error, err *error) {
	*err = fmt.Errorf("the store ended the goroutine in which it %s (runtime.Goexit)", what)
	defer func() {
		if p := recover(); p != nil {
			*err = fmt.Errorf("the store panicked when it %s: %v\n%s", what, p, debug.Stack())
		}
	}()
	*err = call()
}
