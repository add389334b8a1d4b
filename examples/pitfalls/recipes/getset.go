package recipes

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// getsetLock keeps in the key when the lock ends, by the clock of its holder, and
// takes an expired lock over with GETSET: of those who do so at the same time, one
// gets the old value back. It was in the Redis documentation before SET had NX and
// PX, and lives on in many programs.
//
// A late DEL, since nobody can tell whose lock it is:
//
//	A: has the lock, works for too long
//	B: GET → expired; GETSET → the same     B has the lock
//	A: is done; DEL                         … and now it is free
//	C: SETNX → 1                            C has it too
//
// Clocks that differ, which all of them do:
//
//	A: SETNX lock 12:01:00                  for one minute, it is 12:00
//	B: (whose clock is two minutes ahead)   12:01:00 is over: GETSET, B has it too
//
// A lock that is gone when GET comes:
//
//	B: SETNX → 0; A: DEL; B: GET → nil      reads as 0, expired in 1970
//	C: SETNX → 1                            C has the lock, for a second
//	B: GETSET lock 12:01:00 → C's value     B has lost, and has overwritten C's end
type getsetLock struct {
	rdb  *redis.Client
	key  string
	skew time.Duration // how far this machine's clock is ahead
}

func (l getsetLock) TryLock(ctx context.Context, ttl time.Duration) (bool, error) {
	until := time.Now().Add(l.skew).Add(ttl).UnixMilli()
	won, err := l.rdb.SetNX(ctx, l.key, until, 0).Result()
	if err != nil || won {
		return won, err
	}
	seen, _ := l.rdb.Get(ctx, l.key).Int64()
	if seen > time.Now().Add(l.skew).UnixMilli() {
		return false, nil // somebody has it
	}
	//locklint:ignore LL2009 this is what the recipe shows
	old, _ := l.rdb.GetSet(ctx, l.key, until).Int64()
	return old == seen, nil
}

func (l getsetLock) Unlock(ctx context.Context) error {
	return l.rdb.Del(ctx, l.key).Err()
}

func twoWinners(ctx context.Context, l *lab.Lab) (Outcome, error) {
	lock := getsetLock{rdb: l.Client().Client, key: l.Key("account")}
	a, b, c := lock, lock, lock
	b.rdb, c.rdb = l.Client().Client, l.Client().Client
	if won, err := a.TryLock(ctx, time.Nanosecond); err != nil || !won {
		return notTaken("A", err)
	}
	if won, err := b.TryLock(ctx, time.Minute); err != nil || !won {
		return notTaken("B", err)
	}
	if err := a.Unlock(ctx); err != nil {
		return Outcome{}, err
	}
	if won, err := c.TryLock(ctx, time.Minute); err != nil || !won {
		return notTaken("C", err)
	}
	return failed("B took the expired lock over, A's late DEL freed it, C has it too: two winners")
}

func skewedClock(ctx context.Context, l *lab.Lab) (Outcome, error) {
	a := getsetLock{rdb: l.Client().Client, key: l.Key("account")}
	b := getsetLock{rdb: l.Client().Client, key: a.key, skew: 2 * time.Minute}
	if won, err := a.TryLock(ctx, time.Minute); err != nil || !won {
		return notTaken("A", err)
	}
	won, err := b.TryLock(ctx, time.Minute)
	if err != nil || !won {
		return notTaken("B", err)
	}
	return failed("B's clock is 2 min ahead, so it took A's fresh lock for an expired one: two holders")
}

func loserOverwrites(ctx context.Context, l *lab.Lab) (Outcome, error) {
	lock := getsetLock{rdb: l.Client().Client, key: l.Key("account")}
	bc := l.Client()
	a, b, c := lock, lock, lock
	b.rdb, c.rdb = bc.Client, l.Client().Client
	//locklint:ignore LL3003 where the laboratory fails its server goes, with the lock
	if won, err := a.TryLock(ctx, time.Minute); err != nil || !won {
		return notTaken("A", err)
	}
	get, getset := bc.PauseBefore("get"), bc.PauseBefore("getset")
	tried := lab.Go(l, func() (bool, error) { return b.TryLock(ctx, time.Hour) })
	if err := get.Reached(ctx); err != nil {
		return Outcome{}, err
	}
	if err := a.Unlock(ctx); err != nil {
		return Outcome{}, err
	}
	get.Resume()
	if err := getset.Reached(ctx); err != nil {
		return Outcome{}, err
	}
	if won, err := c.TryLock(ctx, time.Second); err != nil || !won {
		return notTaken("C", err)
	}
	getset.Resume()
	if r := <-tried; r.Err != nil || r.Value {
		return safe("B has won: %v", r.Err)
	}
	until, err := c.rdb.Get(ctx, c.key).Int64()
	if err != nil || until < time.Now().Add(time.Minute).UnixMilli() {
		return safe("C's lock ends when it said (%v)", err)
	}
	return failed("B lost, but wrote its own end over C's: C's lock of a second lasts for an hour")
}
