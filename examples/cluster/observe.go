package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/examples/internal/witness"
)

const (
	firstRunTimeout = time.Minute      // until the first tick has run
	settleTimeout   = 30 * time.Second // for due ticks that wait behind a lock
	stopTimeout     = drainTimeout + closeTimeout + 5*time.Second
	lookEvery       = 20 * time.Millisecond
)

// observer watches a cluster for a while and lets the witness judge it.
type observer struct {
	options
	cluster cluster
	control *control
	board   *board
	stop    *stopper
}

// observe opens the window, waits for its end, stops the nodes and prints what
// the witness says. It reports whether that is: nothing wrong.
func (o *observer) observe() (bool, error) {
	w, failure := o.window()
	if failure == nil {
		failure = o.settle(w)
	}
	o.control.close()
	ctx, cancel := context.WithTimeout(o.stop.waiting, stopTimeout)
	defer cancel()
	failure = errors.Join(failure, o.cluster.stop(ctx), o.lateFailures())
	v, err := o.judge(w)
	if err != nil {
		return false, errors.Join(failure, err)
	}
	for _, problem := range v.Problems {
		o.board.printf("witness: %s", problem)
	}
	o.board.printf("%s", v)
	return v.OK(), failure
}

// lateFailures are the failures of nodes that nobody has waited for.
func (o *observer) lateFailures() error {
	var errs []error
	for {
		select {
		case err := <-o.cluster.failures():
			errs = append(errs, err)
		default:
			return errors.Join(errs...)
		}
	}
}

// window returns when it is over. What fails inside it is no reason to keep
// quiet about what was seen until then, so the window is valid in any case.
func (o *observer) window() (w witness.Window, err error) {
	w.Open, err = o.open()
	w.Close = w.Open
	o.board.countFrom(w.Open)
	if err != nil {
		return w, err
	}
	err = o.wait()
	now, timeErr := o.cluster.now(o.stop.waiting)
	if timeErr == nil {
		w.Close = now
	}
	return w, errors.Join(err, timeErr)
}

// open waits until the nodes have run a first tick and returns that tick: from
// there on every tick is due. Before it, a scheduler may not have begun yet, and
// the store owes it nothing for the time before. If no tick runs for a long
// time, everything since the nodes were ready is due, and missed.
func (o *observer) open() (time.Time, error) {
	ready, err := o.cluster.now(o.stop.waiting)
	if err != nil {
		return ready, err
	}
	ctx, cancel := context.WithTimeout(o.stop.observing, firstRunTimeout)
	defer cancel()
	opened := ready
	err = o.poll(ctx, func(events []witness.Event) bool {
		for _, e := range events {
			if e.Kind == witness.Start && !e.Tick.Before(ready) {
				opened = e.Tick
				return true
			}
		}
		return false
	})
	if ctx.Err() != nil {
		err = nil
	}
	return opened, err
}

// poll looks at the events until seen says that they are the awaited ones.
func (o *observer) poll(ctx context.Context, seen func([]witness.Event) bool) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		events, err := o.cluster.events()
		if err != nil || seen(events) {
			return err
		}
		select {
		case <-ticker.C:
		case err := <-o.cluster.failures():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wait returns at the end of -for, at a signal, or when a node fails; -kill
// happens meanwhile.
func (o *observer) wait() error {
	end, kill := after(o.runs), after(o.options.kill)
	for {
		select {
		case <-end:
			return nil
		case <-o.stop.observing.Done():
			return nil
		case err := <-o.cluster.failures():
			return err
		case <-kill:
			kill = nil
			if err := o.control.killBusy(); err != nil {
				return fmt.Errorf("-kill: %w", err)
			}
		}
	}
}

// after is time.After, and never for 0.
func after(d time.Duration) <-chan time.Time {
	if d == 0 {
		return nil
	}
	return time.After(d)
}

// settle lets the nodes go on until each tick of the window has run. A tick that
// became due just before the end, or that waits for the lock of a dead node, is
// late but not missed. What has not run after a long time is.
func (o *observer) settle(w witness.Window) error {
	ctx, cancel := context.WithTimeout(o.stop.waiting, settleTimeout)
	defer cancel()
	told := time.Now().Add(time.Second)
	var judgeErr error
	err := o.poll(ctx, func(events []witness.Event) bool {
		v, err := witness.Judge(o.cluster.specs(), w, o.cluster.deaths(), events)
		if judgeErr = err; err != nil || v.Open == 0 {
			return true
		}
		if !told.IsZero() && time.Now().After(told) {
			told = time.Time{}
			o.board.printf("waiting for due ticks that have not run, or were lost: %d (Ctrl-C waits no longer)", v.Open)
		}
		return false
	})
	if ctx.Err() != nil {
		err = nil // the witness will say what is missing
	}
	return errors.Join(err, judgeErr)
}

func (o *observer) judge(w witness.Window) (witness.Verdict, error) {
	events, err := o.cluster.events()
	if err != nil {
		return witness.Verdict{}, err
	}
	return witness.Judge(o.cluster.specs(), w, o.cluster.deaths(), events)
}
