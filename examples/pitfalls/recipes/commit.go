package recipes

import (
	"context"
	"database/sql"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
	"github.com/lockgen/lockgen/examples/pitfalls/internal/stockdb"
)

// sellTooEarly releases the lock when its work is done, before the transaction
// commits: "let the next one in early". The lock is a good one, taken from this
// library by hand; it is held for too short a time. The same happens where the
// lock is taken inside a function that runs in somebody else's transaction.
//
//	A: lock; reads 1 left; BEGIN; writes 0 left and the order; unlock
//	B: lock; reads 1 left, since nobody else sees what A has not committed
//	A: COMMIT
//	B: BEGIN; writes 0 left and the order; unlock; COMMIT: two sold of one
func (s *shop) sellTooEarly(ctx context.Context, buyer string) (bool, error) {
	lease, err := s.locks.Acquire(ctx, s.item, lockrt.Options{TTL: 30 * time.Second, Wait: lockrt.Forever})
	if err != nil {
		return false, err
	}
	defer lease.Release(ctx) // for the early returns; to release twice does no harm
	//locklint:ignore LL1008 one mistake makes the next: a transaction that outlives the lease cannot have its context
	left, err := s.remaining(ctx)
	if err != nil || left == 0 {
		return false, err
	}
	if err := s.charge(ctx); err != nil {
		return false, err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	if err := take(ctx, tx, buyer, left-1); err != nil {
		return false, err
	}
	//locklint:ignore LL1009 this is what the recipe shows
	if err := lease.Release(ctx); err != nil {
		return false, err
	}
	if err := s.notify(ctx); err != nil {
		return false, err
	}
	return true, tx.Commit()
}

// readTooEarly lets B read between A's release and A's commit.
func readTooEarly(ctx context.Context, l *lab.Lab) (Outcome, error) {
	a, b, db, err := twoBuyers(l)
	if err != nil {
		return Outcome{}, err
	}
	defer db.Close()
	notifying, charging := newStep(), newStep()
	a.notify, b.charge = notifying.call, charging.call
	first := lab.Go(l, func() (bool, error) { return a.sellTooEarly(ctx, "a") })
	if err := notifying.await(ctx); err != nil {
		return Outcome{}, err
	}
	second := lab.Go(l, func() (bool, error) { return b.sellTooEarly(ctx, "b") })
	if err := charging.await(ctx); err != nil {
		return Outcome{}, err
	}
	close(notifying.resume)
	if r := <-first; r.Err != nil {
		return Outcome{}, r.Err
	}
	close(charging.resume)
	if r := <-second; r.Err != nil {
		return Outcome{}, r.Err
	}
	n, err := sold(ctx, db)
	if err != nil || n <= 1 {
		return safe("sold %d of 1 (%v)", n, err)
	}
	return failed("B read the stock between A's unlock and A's commit: %d sold of 1", n)
}

// twoBuyers are two processes that sell the same item, and their database.
func twoBuyers(l *lab.Lab) (a, b *shop, db *sql.DB, err error) {
	var shops [2]*shop
	for i, node := range []string{"a", "b"} {
		locks, err := l.Locker(l.Client(), node)
		if err != nil {
			return nil, nil, nil, err
		}
		shops[i] = &shop{locks: locks, item: "7", charge: passes, notify: passes}
	}
	db = stockdb.Open(1)
	shops[0].db, shops[1].db = db, db
	return shops[0], shops[1], db, nil
}
