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
// It runs in a transaction that is committed before the locks are released, and
// that nobody else's order can overtake: with locks in the same PostgreSQL
// nobody gets them before the commit, even if this instance is paused for longer
// than its leases; with locks elsewhere the database refuses the commit of an
// instance whose locks went to somebody else. The reads come after that guard.
//
// The names of the keys sort the user before the stock, and several keys are
// taken in sorted order: requests of one user wait for each other without
// keeping the stock from others.
//
//lock:key=order:{s.sale.name}:{userID},ttl=5s,wait=20s,tx=s.sale.db
//lock:key=stock:{s.sale.name}
func (s *shop) placeOrderLocked(
	ctx context.Context, tx *sql.Tx, userID int64, _, stock lockrt.Fence,
) (result outcome, err error) {
	st, err := s.sale.read(ctx, tx, userID)
	if err != nil {
		return "", err
	}
	if result = decide(st); result != ordered {
		return result, nil
	}
	if err := authorize(ctx); err != nil {
		return "", err
	}
	return ordered, s.sale.write(ctx, tx, order{userID, s.name, stock}, st.remaining-1)
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
