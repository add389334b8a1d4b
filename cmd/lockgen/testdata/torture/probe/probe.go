// Package probe is what the bodies of the corpus do: tell what they were called with, and misbehave on demand.
package probe

import (
	"context"
	"errors"
	"runtime"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Locks is the locker of package variables in the corpus.
var Locks *lockrt.Locker

// ErrBody is the error of bodies that fail.
var ErrBody = errors.New("the body failed")

type mode string

const (
	plain  mode = "plain"
	fails  mode = "fails"
	panics mode = "panics"
	exits  mode = "exits"
	loses  mode = "loses"
	cancel mode = "cancel"
)

var now struct {
	mode   mode
	ran    int
	args   []any
	held   []string // keys that are locked while the body runs
	ctx    context.Context
	cancel func()
}

// Run records its arguments and does what the mode asks for. Contexts, leases and fences are looked at, not compared.
func Run(args ...any) {
	now.ran++
	now.args, now.ctx = nil, nil
	for _, arg := range args {
		switch arg := arg.(type) {
		case context.Context:
			now.ctx = arg
		case lockrt.Fence, *lockrt.Lease:
		default:
			now.args = append(now.args, arg)
		}
	}
	now.held = heldKeys()
	switch now.mode {
	case panics:
		panic(ErrBody)
	case exits:
		runtime.Goexit()
	case loses:
		for _, key := range now.held {
			if err := Locks.Break(context.Background(), key, "corpus"); err != nil {
				panic(err)
			}
		}
		waitFor(now.ctx, len(now.held) > 0)
	case cancel:
		now.cancel()
		waitFor(now.ctx, true)
	}
}

func waitFor(ctx context.Context, ends bool) {
	if ctx != nil && ends {
		<-ctx.Done()
	}
}

// Err is what bodies return as their error.
func Err() error {
	if now.mode == fails {
		return ErrBody
	}
	return nil
}

func heldKeys() []string {
	infos, err := Locks.List(context.Background(), "")
	if err != nil {
		panic(err)
	}
	var keys []string
	for _, info := range infos {
		keys = append(keys, info.Key)
	}
	return keys
}
