package main

import (
	"context"
	"database/sql"

	lockrt "github.com/lockgen/lockgen/runtime"
)

//go:generate go run github.com/lockgen/lockgen/cmd/lockgen

// shop is one instance's business: it takes orders.
type shop struct {
	name  string // of the instance
	sale  *sale
	locks *lockrt.Locker
}

// outcome is the answer to a request for an order.
type outcome string

const (
	ordered        outcome = "ordered"
	alreadyOrdered outcome = "already ordered"
	soldOut        outcome = "sold out"
)

// placeOrderLocked sells one item to a user who has none yet. It runs while no
// other instance serves the same user or touches the stock.
//
// The transaction begins with the fences: if this instance was paused for so long
// that the locks went to somebody else, the guard fails, and nothing of what follows
// is written. It comes before the reads, so that they are as new as the guard.
//
// The names of the keys sort the user before the stock, and several keys are
// taken in sorted order: requests of one user wait for each other without
// keeping the stock from others.
//
//lock:key=order:{s.sale.name}:{userID},ttl=5s,wait=20s
//lock:key=stock:{s.sale.name}
func (s *shop) placeOrderLocked(
	ctx context.Context, userID int64, user, stock lockrt.Fence,
) (result outcome, err error) {
	err = s.sale.inTx(ctx, func(tx *sql.Tx) (commit bool, err error) {
		if err := s.guard(ctx, tx, userID, user, stock); err != nil {
			return false, err
		}
		st, err := s.sale.read(ctx, tx, userID)
		if err != nil {
			return false, err
		}
		if result = decide(st); result != ordered {
			return false, nil
		}
		if err := authorize(ctx); err != nil {
			return false, err
		}
		return true, s.sale.write(ctx, tx, order{userID, s.name, stock}, st.remaining-1)
	})
	return result, err
}

// guard makes the transaction conditional on both locks. The resources are named
// in the order in which the keys are taken, so that transactions cannot
// deadlock.
func (s *shop) guard(ctx context.Context, tx *sql.Tx, userID int64, user, stock lockrt.Fence) error {
	marks := s.sale.marks()
	if err := marks.Guard(ctx, tx, s.sale.userResource(userID), user); err != nil {
		return err
	}
	return marks.Guard(ctx, tx, s.sale.stockResource(), stock)
}

func decide(st state) outcome {
	switch {
	case st.ordered:
		return alreadyOrdered
	case st.remaining <= 0:
		return soldOut
	}
	return ordered
}
