// Package lifeline lets a node that is no process of its own die like one. All that
// ties the node to the cluster goes through its [Line]: the store of locks, the
// store of jobs, the notes of the witness. When the line is cut the node has said
// its last word. Nothing is released, nothing is reported, no run is finished: its
// leases run out, and the others find out by themselves, as they do after kill -9.
//
// What a dead process does not do and a cut-off node does is to go on computing until
// it notices. The context of its runs ends with the line, so that this is soon.
package lifeline

import (
	"context"
	"errors"
	"sync"
)

// ErrCut is what a dead node hears of everything outside.
var ErrCut = errors.New("this node was killed: nothing that it does reaches the cluster")

// Line ties one node to the cluster, from its start to its death. See [New].
type Line struct {
	life context.Context
	end  context.CancelCauseFunc

	passing sync.RWMutex // read-locked while something is written down, so that Cut is before it or after it
}

// New returns the line of a node that lives.
func New() *Line {
	l := &Line{}
	l.life, l.end = context.WithCancelCause(context.Background())
	return l
}

// Cut kills the node. When it returns nothing of the node can reach the cluster any
// more. A second Cut does nothing.
func (l *Line) Cut() {
	l.passing.Lock()
	defer l.passing.Unlock()
	l.end(ErrCut)
}

// Alive reports whether the line holds.
func (l *Line) Alive() bool { return l.life.Err() == nil }

// Bind returns a context that ends with ctx and with the line. The caller calls stop
// when it is done with it.
func (l *Line) Bind(ctx context.Context) (bound context.Context, stop func()) {
	bound, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(l.life, func() { cancel(ErrCut) })
	return bound, func() { forget(); cancel(nil) }
}

// Do calls f unless the line is cut, and holds Cut back meanwhile. f must not block.
func (l *Line) Do(f func() error) error {
	l.passing.RLock()
	defer l.passing.RUnlock()
	if !l.Alive() {
		return ErrCut
	}
	return f()
}

// ask is for calls that may block. What was under way when the line was cut may have
// reached the store, as a packet of a dying process may; its answer finds nobody.
func ask[T any](ctx context.Context, l *Line, call func(context.Context) (T, error)) (T, error) {
	var none T
	if !l.Alive() {
		return none, ErrCut
	}
	ctx, stop := l.Bind(ctx)
	defer stop()
	answer, err := call(ctx)
	if !l.Alive() {
		return none, ErrCut
	}
	return answer, err
}

// tell is ask for calls that answer with an error only.
func tell(ctx context.Context, l *Line, call func(context.Context) error) error {
	_, err := ask(ctx, l, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}

// askAll is ask for calls with an answer for each of n elements; lost makes the
// answers of one that was cut off.
func askAll[T any](ctx context.Context, l *Line, n int, lost T, call func(context.Context) []T) []T {
	answers, err := ask(ctx, l, func(ctx context.Context) ([]T, error) { return call(ctx), nil })
	if err == nil {
		return answers
	}
	answers = make([]T, n)
	for i := range answers {
		answers[i] = lost
	}
	return answers
}
