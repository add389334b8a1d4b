package recipes

import (
	"context"
	"errors"
	"fmt"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

const job = "42"

// process is a process that works in an office.
type process struct {
	*office
	client *lab.Client
}

func newProcess(l *lab.Lab, node string) (process, error) {
	c := l.Client()
	locks, err := l.Locker(c, node)
	return process{&office{locks}, c}, err
}

func newProcesses(l *lab.Lab) (a, b process, err error) {
	if a, err = newProcess(l, "a"); err != nil {
		return a, b, err
	}
	b, err = newProcess(l, "b")
	return a, b, err
}

// visit is a piece of work that is inside until it is told to leave.
type visit struct {
	step
	ctx   context.Context // of the work; this and since are set when it is reached
	since time.Time
	done  <-chan lab.Result[bool]
}

// enter starts work and waits until it is inside.
func enter(ctx context.Context, l *lab.Lab, p process) (*visit, error) {
	v := &visit{step: newStep()}
	v.done = lab.Go(l, func() (bool, error) {
		return true, p.work(ctx, job, func(inner context.Context) error {
			v.ctx, v.since = inner, time.Now()
			close(v.reached)
			select {
			case <-v.resume: // whatever becomes of inner: this work does not listen
			case <-ctx.Done(): // the scenario broke off
			}
			return nil
		})
	})
	return v, v.await(ctx)
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

// leave ends the work and returns what its wrapper returned.
func (v *visit) leave() error {
	close(v.resume)
	r := <-v.done
	return r.Err
}

// crashedHolder lets A crash with the lock in its hands, in the only way that is left:
// taking the lock and its expiry is one step.
func crashedHolder(ctx context.Context, l *lab.Lab) (Outcome, error) {
	a, b, err := newProcesses(l)
	if err != nil {
		return Outcome{}, err
	}
	inside, err := enter(ctx, l, a)
	if err != nil {
		return Outcome{}, err
	}
	a.client.Cut()
	next, err := enter(ctx, l, b)
	if err != nil {
		return failed("B does not get the lock: %v", err)
	}
	if err := inside.overFor(next); err != nil {
		return failed("%v", err)
	}
	_ = inside.leave()
	if err := next.leave(); err != nil {
		return failed("B: %v", err)
	}
	return safe("the lease ends by itself, and B is next")
}

// pausedHolder cuts A off until B has the lock and has written. Then A goes on as if
// nothing had happened: it writes, and it releases.
func pausedHolder(ctx context.Context, l *lab.Lab) (Outcome, error) {
	a, b, err := newProcesses(l)
	if err != nil {
		return Outcome{}, err
	}
	var book ledger
	inside, err := enter(ctx, l, a)
	if err != nil {
		return Outcome{}, err
	}
	a.client.Cut()
	next, err := enter(ctx, l, b)
	if err != nil {
		return failed("B does not get the lock: %v", err)
	}
	if err := inside.overFor(next); err != nil {
		return failed("%v", err)
	}
	if err := book.write(next.ctx, job, "b", lockrt.FromContext(next.ctx).Fence()); err != nil {
		return failed("B's write: %v", err)
	}
	a.client.Mend()
	if err := book.write(inside.ctx, job, "a", lockrt.FromContext(inside.ctx).Fence()); !errors.Is(err, fence.ErrStale) {
		return failed("A's late write was not refused: %v", err)
	}
	if err := inside.leave(); !errors.Is(err, lockrt.ErrLost) {
		return failed("A's wrapper does not say that the lock was lost: %v", err)
	}
	if err := lockrt.FromContext(next.ctx).Check(ctx); err != nil {
		return failed("B's lock did not survive A's release: %v", err)
	}
	if err := next.leave(); err != nil {
		return failed("B: %v", err)
	}
	return safe("A's context ends first, its late write and release are refused")
}

// secondIsRefused lets B come while A works.
func secondIsRefused(ctx context.Context, l *lab.Lab) (Outcome, error) {
	a, b, err := newProcesses(l)
	if err != nil {
		return Outcome{}, err
	}
	inside, err := enter(ctx, l, a)
	if err != nil {
		return Outcome{}, err
	}
	if err := b.tryWork(ctx, job, passes); !errors.Is(err, lockrt.ErrBusy) {
		return failed("B was not refused: %v", err)
	}
	if err := inside.leave(); err != nil {
		return failed("A: %v", err)
	}
	return safe("B gets ErrBusy and its work is not called; Redis's clock alone counts")
}

// knockingLosers lets C try all the time, from A's crash until B is inside.
func knockingLosers(ctx context.Context, l *lab.Lab) (Outcome, error) {
	a, b, err := newProcesses(l)
	if err != nil {
		return Outcome{}, err
	}
	c, err := newProcess(l, "c")
	if err != nil {
		return Outcome{}, err
	}
	inside, err := enter(ctx, l, a)
	if err != nil {
		return Outcome{}, err
	}
	a.client.Cut()
	knocking, stop := context.WithCancel(ctx)
	defer stop()
	knocks := lab.Go(l, func() (n int, err error) {
		for ; knocking.Err() == nil; n++ {
			if err := c.tryWork(knocking, job, passes); err == nil {
				return n, errors.New("C got in before B, who was first")
			}
		}
		return n, nil
	})
	next, err := enter(ctx, l, b)
	stop()
	if err != nil {
		return failed("B does not get the lock: %v", err)
	}
	r := <-knocks
	_ = inside.leave()
	if err := errors.Join(next.leave(), r.Err); err != nil {
		return failed("%v", err)
	}
	return safe("%d tries of C moved nothing: B gets the lock when A's lease is over", r.Value)
}

// longJobIsRenewed lets A work for longer than the ttl, and B wait for it.
func longJobIsRenewed(ctx context.Context, l *lab.Lab) (Outcome, error) {
	a, b, err := newProcesses(l)
	if err != nil {
		return Outcome{}, err
	}
	inside, err := enter(ctx, l, a)
	if err != nil {
		return Outcome{}, err
	}
	lease, began := lockrt.FromContext(inside.ctx), time.Now()
	next := lab.Go(l, func() (bool, error) {
		err := b.work(ctx, job, passes)
		return inside.ctx.Err() == nil, err // A's context ends with its release
	})
	if err := l.Until("A's lease is longer than twice its ttl", func() (bool, error) {
		return lease.Deadline().Sub(began) > 2*time.Second, lease.Err()
	}); err != nil {
		return failed("A's lease was not renewed: %v", err)
	}
	if err := inside.leave(); err != nil {
		return failed("A: %v", err)
	}
	if r := <-next; r.Err != nil || r.Value {
		return failed("B was inside beside A (%v)", r.Err)
	}
	return safe("the lease is renewed while A works, and B waits")
}

// nestedCallAfterLoss lets A call itself when its lease is over.
func nestedCallAfterLoss(ctx context.Context, l *lab.Lab) (Outcome, error) {
	a, b, err := newProcesses(l)
	if err != nil {
		return Outcome{}, err
	}
	inside, err := enter(ctx, l, a)
	if err != nil {
		return Outcome{}, err
	}
	if err := a.nestedWork(inside.ctx, job, passes); err != nil {
		return failed("A cannot enter again while it holds the lock: %v", err)
	}
	a.client.Cut()
	next, err := enter(ctx, l, b)
	if err != nil {
		return failed("B does not get the lock: %v", err)
	}
	a.client.Mend()
	if err := a.nestedWork(inside.ctx, job, passes); err == nil {
		return failed("A entered again after its lease was over")
	}
	_ = inside.leave()
	if err := next.leave(); err != nil {
		return failed("B: %v", err)
	}
	return safe("the nested call fails: the lease that it would share is lost")
}

// oneAfterTheOther lets the lock become free while B and C want it.
func oneAfterTheOther(ctx context.Context, l *lab.Lab) (Outcome, error) {
	a, b, err := newProcesses(l)
	if err != nil {
		return Outcome{}, err
	}
	inside, err := enter(ctx, l, a)
	if err != nil {
		return Outcome{}, err
	}
	waiting := lab.Go(l, func() (*visit, error) { return enter(ctx, l, b) })
	if err := l.Until("B waits", func() (bool, error) {
		info, err := a.locks.Holder(ctx, "job:"+job)
		return len(info.Waiters) == 1, err
	}); err != nil {
		return Outcome{}, err
	}
	if err := inside.leave(); err != nil {
		return failed("A: %v", err)
	}
	r := <-waiting
	if r.Err != nil {
		return failed("B: %v", r.Err)
	}
	if err := a.tryWork(ctx, job, passes); !errors.Is(err, lockrt.ErrBusy) {
		return failed("C was not refused: %v", err)
	}
	if err := r.Value.leave(); err != nil {
		return failed("B: %v", err)
	}
	if err := a.tryWork(ctx, job, passes); err != nil {
		return failed("the lock is not free after B: %v", err)
	}
	return safe("the release hands the lock to B; whoever comes changes nothing")
}

// unitIsRequired asks for 30 of nothing.
func unitIsRequired(ctx context.Context, l *lab.Lab) (Outcome, error) {
	a, err := newProcess(l, "a")
	if err != nil {
		return Outcome{}, err
	}
	err = a.locks.Do(ctx, job, lockrt.Options{TTL: 30}, func(context.Context, *lockrt.Lease) error { return nil })
	if !errors.Is(err, lockrt.ErrOptions) {
		return failed("a ttl of 30 ns was accepted: %v", err)
	}
	return safe("a ttl of 30 ns is refused; in a directive, ttl=30 has no unit and is refused by lockgen")
}

// commitInside holds A up before its commit.
func commitInside(ctx context.Context, l *lab.Lab) (Outcome, error) {
	a, b, remove, err := twoBuyers(ctx, l)
	if err != nil {
		return Outcome{}, err
	}
	defer remove()
	notifying := newStep()
	a.notify = notifying.call
	first := lab.Go(l, func() (bool, error) { return a.sell(ctx, "a") })
	if err := notifying.await(ctx); err != nil {
		return Outcome{}, err
	}
	second := lab.Go(l, func() (bool, error) { return b.sell(ctx, "b") })
	if err := l.Until("B waits", func() (bool, error) {
		info, err := a.locks.Holder(ctx, "shop:"+a.item)
		return len(info.Waiters) == 1, err
	}); err != nil {
		return Outcome{}, err
	}
	close(notifying.resume)
	r1, r2 := <-first, <-second
	n, err := sold(ctx, a.db)
	if err := errors.Join(r1.Err, r2.Err, err); err != nil {
		return failed("%v", err)
	}
	if !r1.Value || r2.Value || n != 1 {
		return failed("sold %d of 1", n)
	}
	return safe("the commit is inside: B waits for it and finds nothing left")
}

// waiting counts what one waiter sends while another process keeps Redis busy.
func waiting(ctx context.Context, l *lab.Lab) (Outcome, error) {
	a, b, err := newProcesses(l)
	if err != nil {
		return Outcome{}, err
	}
	inside, err := enter(ctx, l, a)
	if err != nil {
		return Outcome{}, err
	}
	next := lab.Go(l, func() (*visit, error) { return enter(ctx, l, b) })
	if err := l.Until("B waits", func() (bool, error) {
		info, err := a.locks.Holder(ctx, "job:"+job)
		return len(info.Waiters) == 1, err
	}); err != nil {
		return Outcome{}, err
	}
	const many = 1000
	other := l.Client()
	for range many {
		if err := other.Ping(ctx).Err(); err != nil {
			return Outcome{}, err
		}
	}
	sent := b.client.Sent()
	if err := inside.leave(); err != nil {
		return failed("A: %v", err)
	}
	r := <-next
	if r.Err != nil {
		return failed("B: %v", r.Err)
	}
	if err := r.Value.leave(); err != nil {
		return failed("B: %v", err)
	}
	if sent > 30 {
		return failed("B sent %d commands while others sent %d", sent, many)
	}
	return safe("the waiter sent %d commands while others sent %d", sent, many)
}
