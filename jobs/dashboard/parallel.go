package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
)

// inParallel asks several questions at once and returns an error of one of them, if any: one that says that parts of the
// store are away only if there is no other.
func inParallel(questions ...func() error) error {
	errs := make([]error, len(questions))
	var asking sync.WaitGroup
	for i, question := range questions {
		asking.Go(func() { errs[i] = caught(question) })
	}
	asking.Wait()
	var partial error
	for _, err := range errs {
		if err != nil && !isPartial(err) {
			return err
		}
		partial = cmp.Or(partial, err)
	}
	return partial
}

// crash is a panic as an error.
type crash struct {
	value any
	stack string
}

func (c *crash) Error() string { return fmt.Sprint("panic: ", c.value) }

// LogValue implements slog.LogValuer: pages do not show the stack, and the log does.
func (c *crash) LogValue() slog.Value { return slog.StringValue(c.Error() + "\n" + c.stack) }

// abort panics again if an error is of a panic that was to abort the request.
func abort(err error) {
	if c := (*crash)(nil); errors.As(err, &c) && c.value == http.ErrAbortHandler {
		panic(c.value)
	}
}

// caught returns the panic of a function as its error. A panic in a goroutine would end the process.
func caught(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &crash{value, string(debug.Stack())}
		}
	}()
	return do()
}
