package recipes

import (
	"context"
	"fmt"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

const job = "42"

// process is a process that works in an office.
type process struct {
	*office
	name   string
	client *lab.Client
}

func newProcess(l *lab.Lab, name string) (process, error) {
	c := l.Client()
	locks, err := l.Locker(c, name)
	return process{&office{locks}, name, c}, err
}

// scene is what most scenarios begin with: A at work, and B who wants to.
type scene struct {
	*lab.Lab
	a, b   process
	inside *visit // of A
}

// inScene makes a scenario of one that begins there. Its error is how the wrappers failed, its text why they are safe.
func inScene(play func(context.Context, *scene) (string, error)) func(context.Context, *lab.Lab) (Outcome, error) {
	return func(ctx context.Context, l *lab.Lab) (Outcome, error) {
		s := &scene{Lab: l}
		var err error
		if s.a, err = newProcess(l, "A"); err != nil {
			return Outcome{}, err
		}
		if s.b, err = newProcess(l, "B"); err != nil {
			return Outcome{}, err
		}
		if s.inside, err = s.enter(ctx, s.a); err != nil {
			return Outcome{}, err
		}
		what, err := play(ctx, s)
		if err != nil {
			return failed("%v", err)
		}
		return safe("%s", what)
	}
}

// visit is a piece of work that is inside until it is told to leave.
type visit struct {
	step
	of    process
	ctx   context.Context // of the work; this and since are set when it is reached
	since time.Time
	done  <-chan lab.Result[bool]
}

// enter starts work and waits until it is inside.
func (s *scene) enter(ctx context.Context, p process) (*visit, error) {
	return enterBy(ctx, s.Lab, p, p.work)
}

// wrapper is what lockgen makes of a function that gets its work from outside.
type wrapper func(ctx context.Context, id string, do func(context.Context) error) error

// enterBy starts work by one of the wrappers of a process and waits until it is inside.
func enterBy(ctx context.Context, l *lab.Lab, p process, how wrapper) (*visit, error) {
	v := startBy(ctx, l, p, how)
	if err := v.await(ctx); err != nil {
		return nil, fmt.Errorf("%s does not get the lock: %w", p.name, err)
	}
	return v, nil
}

// startBy starts work, which is inside once the visit is reached.
func startBy(ctx context.Context, l *lab.Lab, p process, how wrapper) *visit {
	v := &visit{step: newStep(), of: p}
	v.done = lab.Go(l, func() (bool, error) {
		return true, how(ctx, job, func(inner context.Context) error {
			v.ctx, v.since = inner, time.Now()
			close(v.reached)
			select {
			case <-v.resume: // whatever becomes of inner: this work does not listen
			case <-ctx.Done(): // the scenario broke off
			}
			return nil
		})
	})
	return v
}

// leave ends the work and returns what its wrapper returned.
func (v *visit) leave() error {
	close(v.resume)
	if r := <-v.done; r.Err != nil {
		return fmt.Errorf("%s: %w", v.of.name, r.Err)
	}
	return nil
}

// lose cuts A off and waits until B is inside, which it may be only when A's lease is over.
func (s *scene) lose(ctx context.Context) (next *visit, err error) {
	s.a.client.Cut()
	if next, err = s.enter(ctx, s.b); err != nil {
		return nil, err
	}
	return next, s.inside.overFor(next)
}

// overFor returns nil if the lease of v was over when the next one came in, and waits
// for the end of v's context. It compares moments: which of two goroutines of this
// process runs first when both could, says nothing.
func (v *visit) overFor(next *visit) error {
	if deadline := lockrt.FromContext(v.ctx).Deadline(); next.since.Before(deadline) {
		return fmt.Errorf("B was inside %s before A's lease was over", deadline.Sub(next.since))
	}
	select {
	case <-v.ctx.Done():
		return nil
	case <-next.ctx.Done():
		return fmt.Errorf("A's context did not end, and B's has: %w", context.Cause(next.ctx))
	}
}

// queue lets B come while A is inside, and returns when it waits.
func (s *scene) queue(ctx context.Context) (<-chan lab.Result[*visit], error) {
	next := lab.Go(s.Lab, func() (*visit, error) { return s.enter(ctx, s.b) })
	return next, someoneWaits(ctx, s.Lab, s.a.locks, "job:"+job)
}

// someoneWaits returns when a lock has a waiter.
func someoneWaits(ctx context.Context, l *lab.Lab, locks *lockrt.Locker, key string) error {
	return l.Until("B waits", func() (bool, error) {
		info, err := locks.Holder(ctx, key)
		return len(info.Waiters) == 1, err
	})
}
