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

// crashedHolder lets A crash with the lock in its hands, in the only way that is left:
// taking the lock and its expiry is one step.
func crashedHolder(ctx context.Context, s *scene) (string, error) {
	next, err := s.lose(ctx)
	if err != nil {
		return "", err
	}
	_ = s.inside.leave() // nobody hears what a crashed process says
	return "the lease ends by itself, and B is next", next.leave()
}

// pausedHolder cuts A off until B has the lock and has written. Then A goes on as if
// nothing had happened: it writes, and it releases.
func pausedHolder(ctx context.Context, s *scene) (string, error) {
	next, err := s.lose(ctx)
	if err != nil {
		return "", err
	}
	var book ledger
	if err := book.write(next.ctx, job, "b"); err != nil {
		return "", fmt.Errorf("B's write: %w", err)
	}
	s.a.client.Mend()
	if err := book.write(s.inside.ctx, job, "a"); !errors.Is(err, fence.ErrStale) || book.value != "b" {
		return "", fmt.Errorf("A's late write was not refused: %v, and the book says %q", err, book.value)
	}
	if err := s.inside.leave(); !errors.Is(err, lockrt.ErrLost) {
		return "", fmt.Errorf("A's wrapper does not say that the lock was lost: %v", err)
	}
	if err := lockrt.FromContext(next.ctx).Check(ctx); err != nil {
		return "", fmt.Errorf("B's lock did not survive A's release: %w", err)
	}
	return "A's context ends first, its late write and release are refused", next.leave()
}

// nestedCallAfterLoss lets A call itself when its lease is over.
func nestedCallAfterLoss(ctx context.Context, s *scene) (string, error) {
	if err := s.a.nestedWork(s.inside.ctx, job, passes); err != nil {
		return "", fmt.Errorf("A cannot enter again while it holds the lock: %w", err)
	}
	next, err := s.lose(ctx)
	if err != nil {
		return "", err
	}
	s.a.client.Mend()
	if err := s.a.nestedWork(s.inside.ctx, job, passes); err == nil {
		return "", errors.New("A entered again after its lease was over")
	}
	_ = s.inside.leave() // it is lost, which pausedHolder looks at
	return "the nested call fails: the lease that it would share is lost", next.leave()
}

// knockingLosers lets C try all the time, until B is inside after A's crash.
func knockingLosers(ctx context.Context, s *scene) (string, error) {
	c, err := newProcess(s.Lab, "C")
	if err != nil {
		return "", err
	}
	knocking, stop := context.WithCancel(ctx)
	defer stop()
	knocks := lab.Go(s.Lab, func() (n int, err error) {
		for ; knocking.Err() == nil; n++ {
			if err := c.tryWork(knocking, job, passes); err == nil {
				return n, errors.New("C got in before B, who was first")
			}
		}
		return n, nil
	})
	next, err := s.lose(ctx)
	if err != nil {
		return "", err
	}
	stop()
	r := <-knocks
	_ = s.inside.leave() // nobody hears what a crashed process says
	return fmt.Sprintf("%d tries of C moved nothing: B gets the lock when A's lease is over", r.Value),
		errors.Join(next.leave(), r.Err)
}

// secondIsRefused lets B come while A works.
func secondIsRefused(ctx context.Context, s *scene) (string, error) {
	if err := s.b.tryWork(ctx, job, passes); !errors.Is(err, lockrt.ErrBusy) {
		return "", fmt.Errorf("B was not refused: %v", err)
	}
	return "B gets ErrBusy and its work is not called; Redis's clock alone counts", s.inside.leave()
}

// longJobIsRenewed lets A work for longer than the ttl, and B wait for it.
func longJobIsRenewed(ctx context.Context, s *scene) (string, error) {
	lease, began := lockrt.FromContext(s.inside.ctx), time.Now()
	next, err := s.queue(ctx)
	if err != nil {
		return "", err
	}
	if err := s.Until("A's lease is longer than twice its ttl", func() (bool, error) {
		return lease.Deadline().Sub(began) > 2*time.Second, lease.Err()
	}); err != nil {
		return "", fmt.Errorf("A's lease was not renewed: %w", err)
	}
	left := time.Now()
	if err := s.inside.leave(); err != nil {
		return "", err
	}
	r := <-next
	if r.Err != nil {
		return "", r.Err
	}
	if r.Value.since.Before(left) {
		return "", errors.New("B was inside beside A")
	}
	return "the lease is renewed while A works, and B waits", r.Value.leave()
}

// oneAfterTheOther lets the lock become free while B and C want it.
func oneAfterTheOther(ctx context.Context, s *scene) (string, error) {
	next, err := s.queue(ctx)
	if err != nil {
		return "", err
	}
	if err := s.inside.leave(); err != nil {
		return "", err
	}
	r := <-next
	if r.Err != nil {
		return "", r.Err
	}
	if err := s.a.tryWork(ctx, job, passes); !errors.Is(err, lockrt.ErrBusy) {
		return "", fmt.Errorf("C was not refused: %v", err)
	}
	if err := r.Value.leave(); err != nil {
		return "", err
	}
	if err := s.a.tryWork(ctx, job, passes); err != nil {
		return "", fmt.Errorf("the lock is not free after B: %w", err)
	}
	return "the release hands the lock to B; whoever comes changes nothing", nil
}

// waiting counts what one waiter sends while another process keeps Redis busy.
func waiting(ctx context.Context, s *scene) (string, error) {
	next, err := s.queue(ctx)
	if err != nil {
		return "", err
	}
	const many, few = 1000, 30
	other := s.Client()
	for range many {
		if err := other.Ping(ctx).Err(); err != nil {
			return "", err
		}
	}
	sent := s.b.client.Sent()
	if err := s.inside.leave(); err != nil {
		return "", err
	}
	r := <-next
	if r.Err != nil {
		return "", r.Err
	}
	what := fmt.Sprintf("the waiter sent %d commands while others sent %d", sent, many)
	if sent > few {
		return "", errors.New(what)
	}
	return what, r.Value.leave()
}

// unitIsRequired asks for 30 of nothing.
func unitIsRequired(ctx context.Context, l *lab.Lab) (Outcome, error) {
	a, err := newProcess(l, "A")
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
	a, b, db, err := twoBuyers(l)
	if err != nil {
		return Outcome{}, err
	}
	defer db.Close()
	notifying := newStep()
	a.notify = notifying.call
	first := lab.Go(l, func() (bool, error) { return a.sell(ctx, "a") })
	if err := notifying.await(ctx); err != nil {
		return Outcome{}, err
	}
	second := lab.Go(l, func() (bool, error) { return b.sell(ctx, "b") })
	if err := someoneWaits(ctx, l, a.locks, "shop:"+a.item); err != nil {
		return Outcome{}, err
	}
	close(notifying.resume)
	r1, r2 := <-first, <-second
	n, err := sold(ctx, db)
	if err := errors.Join(r1.Err, r2.Err, err); err != nil {
		return failed("%v", err)
	}
	if !r1.Value || r2.Value || n != 1 {
		return failed("sold %d of 1", n)
	}
	return safe("the commit is inside: B waits for it and finds nothing left")
}
