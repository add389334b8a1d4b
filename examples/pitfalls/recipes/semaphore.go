package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// counterSemaphore lets in as many as its limit: each counts up, and down at the end.
//
//	A: INCR slots → 1                     A works, and crashes
//	B: INCR slots → 2                     B works, and crashes
//	C: INCR slots → 3; DECR slots         too many, although nobody is inside
//	   … for ever: nobody knows whose the two are
type counterSemaphore struct {
	rdb   *redis.Client
	key   string
	limit int64
}

func (s counterSemaphore) TryAcquire(ctx context.Context) (bool, error) {
	//locklint:ignore LL2012 this is what the recipe shows
	n, err := s.rdb.Incr(ctx, s.key).Result()
	if err != nil {
		return false, err
	}
	if n > s.limit {
		return false, s.Release(ctx)
	}
	return true, nil
}

func (s counterSemaphore) Release(ctx context.Context) error { return s.rdb.Decr(ctx, s.key).Err() }

// permitsLeak lets the two who are inside crash. A third comes.
func permitsLeak(ctx context.Context, l *lab.Lab) (Outcome, error) {
	key := l.Key("slots")
	for _, name := range []string{"A", "B"} {
		c := l.Client()
		if ok, err := (counterSemaphore{c.Client, key, 2}).TryAcquire(ctx); !ok || err != nil {
			return Outcome{}, fmt.Errorf("%s does not get in: %w", name, err)
		}
		c.Cut()
	}
	won, err := counterSemaphore{l.Client().Client, key, 2}.TryAcquire(ctx)
	if err != nil {
		return Outcome{}, err
	}
	return endless(l, key, won, "the count is 2 and nobody is inside: no permit ever comes back")
}

// permitsReturn lets one of the two who are inside crash: each has a lease of its own. A third takes its place.
func permitsReturn(ctx context.Context, l *lab.Lab) (Outcome, error) {
	p, err := processes(l, "A", "B", "C")
	if err != nil {
		return Outcome{}, err
	}
	var inside []*visit
	for _, p := range p[:2] {
		v, err := enterBy(ctx, l, p, p.share)
		if err != nil {
			return Outcome{}, err
		}
		inside = append(inside, v)
	}
	p[0].client.Cut()
	next, err := enterBy(ctx, l, p[2], p[2].share)
	if err != nil {
		return failed("%v", err)
	}
	if err := inside[0].overFor(next); err != nil {
		return failed("%v", err)
	}
	if err := errors.Join(next.leave(), inside[1].leave()); err != nil {
		return failed("%v", err)
	}
	return safe("the permit of the dead was free after one lease")
}
