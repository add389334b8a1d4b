// Package intx runs work in a transaction that is committed while locks are held, whatever kind of transaction it is.
package intx

import (
	"context"
	"errors"
	"fmt"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// ErrUnsure is sqlstore.ErrUnsure.
var ErrUnsure = errors.New("it is not known whether the transaction was committed")

const (
	// RollbackTime bounds a rollback: a server that is silent for longer finds out by itself that the client has gone.
	RollbackTime = 5 * time.Second
	// commitTime is how long the answer to a commit may take once the caller's context has ended. Some drivers would
	// wait for it for as long as the connection seems to stand.
	commitTime = time.Second
)

// Kind says how one kind of transaction is used.
type Kind[T any] struct {
	// Begin begins a transaction, which is rolled back when ctx ends.
	Begin func(ctx context.Context) (T, error)
	// Guard makes the transaction part of the leases. The function that it returns, if any, is asked before the commit.
	Guard func(ctx context.Context, tx T, leases lockrt.Leases) (ctxOfWork context.Context, before func() error, err error)
	// Commit and Rollback end it. Rollback of one that the program has ended before does nothing, and its error says so.
	Commit   func(ctx context.Context, tx T) error
	Rollback func(ctx context.Context, tx T) error
	// Ended reports whether an error says that the program has ended the transaction.
	Ended func(error) bool
	// Answered reports whether a commit's error is the server's word that it was not done.
	Answered func(error) bool
}

// Do takes the locks on keys, begins a transaction, guards it, runs fn in it, commits, and releases.
func Do[T any](
	ctx context.Context, locks *lockrt.Locker, keys []string, o lockrt.Options, kind Kind[T],
	fn func(ctx context.Context, tx T, leases lockrt.Leases) error,
) error {
	committed := false
	err := locks.DoAll(ctx, keys, o, func(leaseCtx context.Context, leases lockrt.Leases) (err error) {
		committed, err = kind.run(ctx, leaseCtx, leases, fn)
		return err
	})
	if committed && errors.Is(err, lockrt.ErrLost) {
		return nil // what was to be done under the lock has been, and the end of the lease is of no more interest
	}
	return err
}

// run is one transaction. ctx is the caller's: a transaction that is guarded may outlast the lease.
func (k Kind[T]) run(
	ctx, leaseCtx context.Context, leases lockrt.Leases, fn func(ctx context.Context, tx T, leases lockrt.Leases) error,
) (committed bool, err error) {
	txCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	tx, err := k.Begin(txCtx)
	if err != nil {
		return false, fmt.Errorf("begin a transaction under lock %s: %w", named(leases), err)
	}
	over, free := false, func() {}
	defer func() { // after an error, a panic and Goexit
		if !over {
			bound, stop := context.WithTimeout(context.WithoutCancel(ctx), RollbackTime)
			defer stop()
			running := txCtx.Err() == nil // else it may have been rolled back by its context
			answered, late := within(bound, 0, func() error { return k.Rollback(txCtx, tx) })
			if answered && late == nil {
				free()
			}
			if err != nil && running && late != nil && k.Ended(late) && !errors.Is(err, ErrUnsure) {
				err = fmt.Errorf("%w: its function has ended it (%w) and failed: %w", ErrUnsure, late, err)
			}
		}
	}()
	if free, err = anchor(leases); err != nil {
		return false, err
	}
	workCtx, before, err := k.Guard(context.WithValue(leaseCtx, anchorsKey{}, true), tx, leases)
	if err != nil {
		return false, err
	}
	if err := fn(context.WithValue(workCtx, anchorsKey{}, false), tx, leases); err != nil {
		return false, err
	}
	if before != nil {
		if err := before(); err != nil {
			return false, err
		}
	}
	if err := ctx.Err(); err != nil { // known not to be committed, which an interrupted commit is not
		return false, fmt.Errorf("commit under lock %s: not tried: %w", named(leases), withCause(ctx, err))
	}
	answered, err := within(ctx, commitTime, func() error { return k.Commit(ctx, tx) })
	if !answered {
		over = true // it is under way: a rollback would wait for it
		return false, fmt.Errorf("commit under lock %s: %w: no answer came until %s after the end of the context: %w",
			named(leases), ErrUnsure, commitTime, withCause(ctx, ctx.Err()))
	}
	if err != nil {
		if over = k.Answered(err); over {
			free()
		} else {
			err = fmt.Errorf("%w: %w", ErrUnsure, err)
		}
		return false, fmt.Errorf("commit under lock %s: %w", named(leases), err)
	}
	over = true
	free()
	return true, nil
}

// anchor keeps leases from being passed on within the process until their transaction is known to be over: see
// lockrt.Lease.Anchor.
func anchor(leases lockrt.Leases) (free func(), err error) {
	var undo []func()
	free = func() {
		for _, undo := range undo {
			undo()
		}
	}
	for _, lease := range leases {
		one, err := lease.Anchor()
		if err != nil {
			return free, fmt.Errorf("guard %q: %w", lease.Key(), err)
		}
		undo = append(undo, one)
	}
	return free, nil
}

type anchorsKey struct{}

// Anchors reports whether a guard is asked for by Do, which has anchored the leases and knows when the guard is over.
func Anchors(ctx context.Context) bool {
	by, _ := ctx.Value(anchorsKey{}).(bool)
	return by
}

// within runs f, and stops waiting for it a while after ctx has ended. f then goes on until its driver gives up. What f
// panics with, the caller does.
func within(ctx context.Context, after time.Duration, f func() error) (answered bool, err error) {
	type outcome struct {
		err      error
		panicked any
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover()
			done <- o
		}()
		o.err = f()
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		late := time.NewTimer(after)
		defer late.Stop()
		select {
		case o = <-done:
		case <-late.C:
			return false, nil
		}
	}
	if o.panicked != nil {
		panic(o.panicked)
	}
	return true, o.err
}

func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return errors.Join(err, cause)
	}
	return err
}

// named is what the locks are called in errors.
func named(leases lockrt.Leases) string {
	if len(leases) == 1 {
		return fmt.Sprintf("%q", leases[0].Key())
	}
	return fmt.Sprintf("%q and %d more", leases[0].Key(), len(leases)-1)
}
